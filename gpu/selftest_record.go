package gpu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
)

// selfTestVersion counts changes of what the self-test checks.
const selfTestVersion = 2

// testRecord is a verdict as it is kept between runs, with the rates that were measured at the same time. Anybody may
// have written the file: it is believed only where it says to avoid something, a refusal is never believed, and rates
// within bounds.
type testRecord struct {
	Key    string `json:"key"`    // see recordKey
	Device string `json:"device"` // for people
	Driver string `json:"driver"`
	verdict
	Rates plan.Rates `json:"rates"` // zero where they could not be measured
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
	path, key := recordPath(&info)
	record, ok := readRecord(path, key)
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
		record = testRecord{Key: key, Device: info.Name, Driver: info.Driver, verdict: v}
		if v.Refused == "" {
			v.restrict(&facts)
			record.Rates, _ = measureRates(d, facts) // without them those of the class stand in
		}
		writeRecord(path, &record)
	}
	if v.Refused != "" {
		return facts, "", fmt.Errorf("%s (%s) fails the self-test: %s; update its driver or choose another device",
			info.Name, info.Driver, v.Refused)
	}
	v.restrict(&facts)
	if record.Rates != (plan.Rates{}) {
		facts.Measured = facts.Bounded(record.Rates)
		d.SetRates(facts.Measured)
	}
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
	r, ok := readRecord(recordPath(info))
	if !ok {
		return facts, selfTestUnknown
	}
	r.restrict(&facts)
	if r.Rates != (plan.Rates{}) {
		facts.Measured = facts.Bounded(r.Rates)
	}
	return facts, r.String()
}

// recordKey identifies what a verdict is about: the device, its driver, our kernels and the test.
func recordKey(info *vulkan.DeviceInfo) string {
	p, facts := info.Properties, info.Facts
	facts.Measured = plan.Rates{} // what came of it is no part of the question
	sum := sha256.New()
	fmt.Fprintf(sum, "self-test %d of %s\n", selfTestVersion, shaders.SetID)
	fmt.Fprintf(sum, "%x %x %d %d\n", p.DriverUUID, p.DeviceUUID, p.DriverID, p.DriverVersion)
	fmt.Fprintf(sum, "%d %d %d %q %q\n%+v\n", p.VendorID, p.DeviceID, p.API, info.Name, info.Driver, facts)
	return hex.EncodeToString(sum.Sum(nil))
}

// recordPath is where the verdict on a device is kept, with its key; "" where the user has no place for it.
func recordPath(info *vulkan.DeviceInfo) (path, key string) {
	key = recordKey(info)
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification says to ignore it then
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return "", key
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "nngpu", "selftest-"+key[:32]+".json"), key
}

// maxRecord bounds the bytes that are read of a record; ours have some hundreds.
const maxRecord = 16 << 10

// readRecord returns what the file holds; false where it does not belong to the key.
func readRecord(path, key string) (testRecord, bool) {
	if path == "" {
		return testRecord{}, false
	}
	// Not blocking, because the path may lead to a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return testRecord{}, false
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > maxRecord {
		return testRecord{}, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return testRecord{}, false
	}
	var r testRecord
	if json.Unmarshal(text, &r) != nil || r.Key != key || r.MaxLoop != 0 && r.MaxLoop != safeLoop {
		return testRecord{}, false
	}
	if strings.ContainsFunc(r.Refused, func(c rune) bool { return !unicode.IsPrint(c) }) { // it is shown on terminals
		return testRecord{}, false
	}
	return r, true
}

// writeRecord keeps r for later runs. A failure only means that the test runs again.
func writeRecord(path string, r *testRecord) {
	if path == "" {
		return
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and flags
	}
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "selftest-*.tmp")
	if err != nil {
		return
	}
	_, err = f.Write(append(text, '\n'))
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		_ = os.Remove(f.Name())
	}
}
