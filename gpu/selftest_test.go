package gpu

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

func TestSelfTestOnDevices(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		v, err := runSelfTest(d)
		require.NoError(t, err)
		require.Empty(t, v.Refused)
		require.False(t, v.DotWrong)
		want := 0
		if strings.Contains(d.Info().Driver, "Mesa 22.3") && d.Facts().Class == plan.ClassCPU {
			want = safeLoop
		}
		require.Equal(t, want, v.MaxLoop)
		// The variant for devices without dot products.
		data := newTestData()
		records, err := data.run(t.Context(), d, false)
		require.NoError(t, err)
		require.Equal(t, v, data.judge(records, false))
		used, _, _ := d.Memory()
		require.Zero(t, used)
	})
}

func TestSelfTestWithoutMemory(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			vktest.Open(t, selector, vulkan.Options{}) // or skip
			dir := t.TempDir()
			t.Setenv("XDG_STATE_HOME", dir)
			b, err := Open(selector, Options{MemoryBudget: 256})
			require.NoError(t, err)
			defer b.Close()
			require.Contains(t, b.SelfTest(), "left out")
			require.Empty(t, files(t, dir))
		})
	}
}

// right is what a faultless device writes.
func right(data *testData) []uint32 {
	var list []uint32
	for i := range testRecords {
		r := data.record(i)
		list = append(list, r[:]...)
	}
	return list
}

func TestJudge(t *testing.T) {
	data := newTestData()
	require.Equal(t, verdict{}, data.judge(right(data), true))
	for _, i := range []int{0, 7, testRecords - 1} {
		for word, what := range checked {
			records := right(data)
			records[i*recordWords+word] ^= 1 << (word + i)
			v := data.judge(records, true)
			switch word {
			case atDot:
				require.Equal(t, verdict{DotWrong: true}, v)
				require.Equal(t, verdict{}, data.judge(records, false))
			case atHash:
				require.Contains(t, v.Refused, "a loop computes")
			case atDone:
				require.Contains(t, v.Refused+v.String(), "loop")
			default:
				require.NotEmpty(t, what)
				require.Contains(t, v.Refused, what)
			}
		}
	}
	for done, want := range map[uint32]string{
		0: "refused", 59_999: "refused", safeLoop: "60000 iterations are safe", 65_535: "60000 iterations are safe",
		loopTried - 1: "60000 iterations are safe", loopTried + 1: "refused", math.MaxUint32: "refused",
	} {
		records := right(data)
		records[recordWords+atDone] = done
		require.Contains(t, data.judge(records, true).String(), want, done)
	}
	require.NotEmpty(t, data.judge(make([]uint32, testRecords*recordWords), true).Refused)
}

func TestDataHoldsTheExtremes(t *testing.T) {
	data := newTestData()
	require.Equal(t, int32(-130560), int32(data.record(0)[atDot]))
	require.Equal(t, int32(129540), int32(data.record(1)[atDot]))
	require.Equal(t, int32(-65536), int32(data.record(2)[atDot]))
	require.Len(t, data.quads, 8*testRecords)
	for _, w := range data.floats {
		f := float64(math.Float32frombits(w))
		require.True(t, f == 0 || math.Abs(f) >= 0x1p-126, "%#x", w) // neither NaN nor subnormal
	}
}

func TestRestrictNeverAdds(t *testing.T) {
	for _, v := range []verdict{{}, {DotWrong: true}, {MaxLoop: safeLoop}} {
		var f plan.Facts
		v.restrict(&f)
		require.Equal(t, plan.Facts{}, f)
	}
	f := plan.Facts{IntegerDot: true, IntegerDotFast: true}
	verdict{DotWrong: true}.restrict(&f)
	require.Equal(t, plan.Facts{}, f)
}

func files(t *testing.T, dir string) []string {
	list, err := filepath.Glob(filepath.Join(dir, "nngpu", "*"))
	require.NoError(t, err)
	return list
}

func TestRecordIsKeptAndUsed(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		dir := t.TempDir()
		t.Setenv("XDG_STATE_HOME", dir)
		info := d.Describe()
		_, line := recordedVerdict(&info)
		require.Equal(t, selfTestUnknown, line)
		facts, line, err := checkDevice(d)
		require.NoError(t, err)
		require.Contains(t, line, "passed")
		require.Len(t, files(t, dir), 1)
		known, again := recordedVerdict(&info)
		require.Equal(t, facts, known)
		require.Equal(t, line, again)

		path, key := recordPath(&info, "selftest")
		writeRecord(path, &testRecord{Key: key, verdict: verdict{DotWrong: true}})
		facts, line, err = checkDevice(d)
		require.NoError(t, err)
		require.Contains(t, line, "without integer dot products")
		require.False(t, facts.IntegerDot || facts.IntegerDotFast)

		// A refusal on record is not believed.
		writeRecord(path, &testRecord{Key: key, verdict: verdict{Refused: "forged"}})
		_, line, err = checkDevice(d)
		require.NoError(t, err)
		require.Contains(t, line, "passed")
		require.Len(t, files(t, dir), 1)
	})
}

func TestDamagedRecords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "nngpu", "selftest-0.json")
	const key = "0123"
	writeRecord(path, &testRecord{Key: key, verdict: verdict{MaxLoop: safeLoop}})
	v, ok := readVerdict(path, key)
	require.True(t, ok)
	require.Equal(t, verdict{MaxLoop: safeLoop}, v.verdict)
	good, err := os.ReadFile(path)
	require.NoError(t, err)

	for n := range len(good) - 2 { // the closing brace and the line feed
		require.NoError(t, os.WriteFile(path, good[:n], 0o600))
		_, ok := readVerdict(path, key)
		require.False(t, ok, "%d bytes", n)
	}
	for _, text := range []string{
		"null", "[]", "{}", `{"key":1}`, `{"key":"0124"}`, `{"key":"0123","max_loop":1}`, `{"key":"0123","max_loop":-1}`,
		`{"key":"0123","max_loop":1e99}`, `{"key":"0123","dot_wrong":7}`, `{"key":"0123","refused":"\u001b[2J"}`,
		string(good) + strings.Repeat(" ", maxRecord), strings.Repeat("[", 10_000), "\x00\xff",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, ok := readVerdict(path, key)
		require.False(t, ok, "%.40q", text)
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, ok = readVerdict(path, key)
	require.False(t, ok)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, ok = readVerdict(path, key)
	require.False(t, ok)
	writeRecord(path, &testRecord{Key: key}) // cannot replace the folder
	require.Len(t, files(t, dir), 1)
}

func TestRecordPlaces(t *testing.T) {
	info := &vulkan.DeviceInfo{}
	require.NoError(t, json.Unmarshal([]byte(`{"Name":"x","Properties":{}}`), info))
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("XDG_STATE_HOME", "")
	path, key := recordPath(info, "selftest")
	require.Equal(t, "/home/somebody/.local/state/nngpu/selftest-"+key[:32]+".json", path)
	t.Setenv("XDG_STATE_HOME", "relative")
	again, _ := recordPath(info, "selftest")
	require.Equal(t, path, again)
	t.Setenv("HOME", "")
	path, _ = recordPath(info, "selftest")
	require.Empty(t, path)
	_, ok := readVerdict(path, key)
	require.False(t, ok)
	writeRecord(path, &testRecord{})

	other := *info
	other.Facts.SubgroupSize = 7
	require.NotEqual(t, key, recordKey(&other))
}

func TestSelfTestSwitchedOff(t *testing.T) {
	vktest.Each(t, func(t *testing.T, d *vulkan.Device) {
		dir := t.TempDir()
		t.Setenv("XDG_STATE_HOME", dir)
		t.Setenv("NNGPU_SELFTEST", "off")
		facts, line, err := checkDevice(d)
		require.NoError(t, err)
		require.Equal(t, d.Facts(), facts)
		require.Equal(t, selfTestSkipped, line)
		require.Empty(t, files(t, dir))
	})
}

func TestOpenOfUnknownDevice(t *testing.T) {
	_, err := Open("no such device", Options{})
	require.Equal(t, nn.StatusDeviceUnavailable, nn.StatusOf(err), err)
}

// BenchmarkRecordedSelfTest is what the self-test costs from the second use of a device on.
func BenchmarkRecordedSelfTest(b *testing.B) {
	for _, selector := range vktest.Selectors() {
		b.Run(selector, func(b *testing.B) {
			d := vktest.Open(b, selector, vulkan.Options{})
			b.Setenv("XDG_STATE_HOME", b.TempDir())
			for range b.N {
				_, _, err := checkDevice(d)
				require.NoError(b, err)
			}
		})
	}
}
