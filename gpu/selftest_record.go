package gpu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/internal/regular"
	"github.com/nngpu/nngpu/shaders"
)

// selfTestVersion counts changes of what the self-test checks.
const selfTestVersion = 2

// testRecord is a verdict as it is kept between runs. Anybody may have written the file: a refusal is never
// believed, and what it calls right is no worse than a test that was left out.
type testRecord struct {
	Key    string `json:"key"`    // see recordKey
	Device string `json:"device"` // for people
	Driver string `json:"driver"`
	verdict
}

// selfTestOff: NNGPU_SELFTEST says to leave the self-test out.
func selfTestOff() bool { return os.Getenv("NNGPU_SELFTEST") == "off" }

// checkDevice returns the facts of d less what the self-test found wrong, and a line about it. The test runs
// when no earlier one is on record. The error says why the device is refused.
func checkDevice(d *vulkan.Device) (plan.Facts, string, error) {
	facts := d.Facts()
	if selfTestOff() {
		return facts, selfTestSkipped, nil
	}
	info := d.Describe()
	path, key := recordPath(&info, "selftest")
	record, ok := readVerdict(path, key)
	v := record.verdict
	if !ok || v.Refused != "" {
		var err error
		v, err = runSelfTest(d)
		switch nn.StatusOf(err) {
		case nn.StatusNone:
		case nn.StatusResourceExhaustedTransient, nn.StatusResourceExhaustedPersistent:
			return facts, "left out: " + err.Error(), nil
		default:
			return facts, "", fmt.Errorf("%s fails the self-test: %w; choose another device", info.Name, err)
		}
		writeRecord(path, &testRecord{Key: key, Device: info.Name, Driver: info.Driver, verdict: v})
	}
	if v.Refused != "" {
		return facts, "", fmt.Errorf("%s (%s) fails the self-test: %s; update its driver or choose another device",
			info.Name, info.Driver, v.Refused)
	}
	v.restrict(&facts)
	return facts, v.String(), nil
}

const (
	selfTestSkipped = "switched off by NNGPU_SELFTEST"
	selfTestUnknown = "not made yet"
)

// recordedVerdict is checkDevice for a device that is only listed: the test never runs.
func recordedVerdict(info *vulkan.DeviceInfo) (plan.Facts, string) {
	facts := info.Facts
	if selfTestOff() {
		return facts, selfTestSkipped
	}
	r, ok := readVerdict(recordPath(info, "selftest"))
	if !ok {
		return facts, selfTestUnknown
	}
	r.restrict(&facts)
	return facts, r.String()
}

// recordKey identifies what a verdict is about: the device, its driver, our kernels and the test.
func recordKey(info *vulkan.DeviceInfo) string {
	p, facts := info.Properties, info.Facts
	sum := sha256.New()
	fmt.Fprintf(sum, "self-test %d of %s\n", selfTestVersion, shaders.SetID)
	fmt.Fprintf(sum, "%x %x %d %d\n", p.DriverUUID, p.DeviceUUID, p.DriverID, p.DriverVersion)
	fmt.Fprintf(sum, "%d %d %d %q %q\n%+v\n", p.VendorID, p.DeviceID, p.API, info.Name, info.Driver, facts)
	return hex.EncodeToString(sum.Sum(nil))
}

// recordPath is where something that was found out about a device is kept, with its key; "" where the user has no place
// for it.
func recordPath(info *vulkan.DeviceInfo, kind string) (path, key string) {
	key = recordKey(info)
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification says to ignore it then
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", key
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "nngpu", kind+"-"+key[:32]+".json"), key
}

// maxRecord bounds the bytes that are read of a record; ours have some hundreds.
const maxRecord = 16 << 10

// readVerdict returns what the file holds; false where it does not belong to the key.
func readVerdict(path, key string) (testRecord, bool) {
	var r testRecord
	if !readRecord(path, &r) || r.Key != key || r.MaxLoop != 0 && r.MaxLoop != safeLoop {
		return testRecord{}, false
	}
	if strings.ContainsFunc(r.Refused, func(c rune) bool { return !unicode.IsPrint(c) }) { // it is shown on terminals
		return testRecord{}, false
	}
	return r, true
}

// readRecord reads the file into record, a pointer; false where it cannot.
func readRecord(path string, record any) bool {
	if path == "" {
		return false
	}
	text, err := regular.Read(path, maxRecord)
	return err == nil && json.Unmarshal(text, record) == nil
}

// writeRecord keeps record for later runs. A failure only means that the same is found out again.
func writeRecord(path string, record any) {
	if path == "" {
		return
	}
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		panic(err) // strings, flags and finite numbers
	}
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "record-*.tmp")
	if err != nil {
		return
	}
	_, err = f.Write(append(text, '\n'))
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name())
	}
}
