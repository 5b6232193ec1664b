package command

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// bad is a command line that must fail: with one line of error, or one JSON object, and nothing written.
type bad struct {
	name   string
	args   []string
	code   int
	status string   // in JSON
	says   []string // parts of the message
	env    []string
}

// check runs the command for people and for programs.
func (b *bad) check(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	plain := (&call{args: b.args, env: b.env, dir: dir}).run(t)
	require.Equal(t, b.code, plain.code, "%v: %s%s", b.args, plain.stdout, plain.stderr)
	require.Empty(t, plain.stdout)
	require.Regexp(t, `\Anngpu: [^\n]+\n\z`, plain.stderr, "one line")
	for _, part := range b.says {
		require.Contains(t, plain.stderr, part)
	}
	coded := (&call{args: append([]string{"--json"}, b.args...), env: b.env, dir: dir}).run(t)
	require.Equal(t, b.code, coded.code)
	require.Empty(t, coded.stderr)
	v := object(t, coded.stdout)
	require.Equal(t, []string{"error", "status"}, keys(v))
	require.Equal(t, strings.TrimSpace(strings.TrimPrefix(plain.stderr, "nngpu: ")), v["error"])
	if b.status != "" {
		require.Equal(t, b.status, v["status"])
	}
	require.Equal(t, []string{dir}, listing(t, dir), "something was written")
}

// files are those that the cases refer to.
type files struct{ model, picture, pair, dir string }

func (f *files) put(t *testing.T, name string, data []byte) string {
	t.Helper()
	return write(t, filepath.Join(f.dir, name), data)
}

func newFiles(t *testing.T) *files {
	t.Helper()
	return &files{example(t, "digits_s8.tflite"), example(t, "samples/7.png"), pairNetwork(t), t.TempDir()}
}

func TestBadCommandLine(t *testing.T) {
	f := newFiles(t)
	for _, tc := range []bad{
		{name: "no such command", args: []string{"train"}, says: []string{`"train"`, "nngpu --help"}},
		{name: "model without a name", args: []string{"run", ""}, says: []string{"name", "empty"}},
		{name: "folder without a name", args: []string{"verify", ""}, says: []string{"name", "empty"}},
		{name: "almost a command", args: []string{"benhc"}, says: []string{"did you mean bench"}},
		{name: "help for no command", args: []string{"help", "train"}, says: []string{`"train"`}},
		{name: "unknown flag", args: []string{"run", f.model, "--inptu", f.picture}, says: []string{"--inptu", "nngpu run --help"}},
		{name: "flag without value", args: []string{"run", f.model, "--input"}, says: []string{"--input", "nngpu run --help"}},
		{name: "no number", args: []string{"run", f.model, "--top", "many"}, says: []string{"many", "nngpu run --help"}},
		{name: "budget with a unit", args: []string{"info", "--memory-budget", "1GB"}, says: []string{"1GB", "not a whole number"}},
		{name: "no mean", args: []string{"run", f.model, "--mean", "a"}, says: []string{"--mean", "not a number"}},
		{name: "completion for nothing", args: []string{"completion"}, says: []string{"bash"}},
		{name: "completion for no shell", args: []string{"completion", "csh"}, says: []string{"bash"}},
		{name: "no model", args: []string{"run"}, says: []string{"one model", "nngpu run --help"}},
		{name: "two models", args: []string{"run", f.model, f.model}, says: []string{"one model"}},
		{name: "inspect nothing", args: []string{"inspect"}, says: []string{"one model"}},
		{name: "verify nothing", args: []string{"verify"}, says: []string{"folder"}},
		{name: "conformance nothing", args: []string{"conformance"}, says: []string{"one folder"}},
		{name: "info with argument", args: []string{"info", "all"}, says: []string{"no arguments"}},
		{name: "time without a unit", args: []string{"bench", f.model, "--duration", "1"}, says: []string{"not a time such as"}},
		{name: "suite that is not there", args: []string{"conformance", f.dir + "/absent"}, says: []string{"absent", "no such file"}},
		{name: "suite without a name", args: []string{"conformance", ""}, says: []string{"name", "empty"}},
		{name: "negative budget", args: []string{"info", "--memory-budget=-1"}, says: []string{"--memory-budget"}},
		{name: "top 0", args: []string{"run", f.model, "-i", f.picture, "--top", "0"}, says: []string{"--top", "at least 1"}},
		{name: "top -1", args: []string{"run", f.model, "-i", f.picture, "--top", "-1"}, says: []string{"--top", "at least 1"}},
		{name: "format", args: []string{"run", f.model, "-i", f.picture, "--format", "csv"}, says: []string{"bin or npy"}},
		{name: "std 0", args: []string{"run", f.model, "-i", f.picture, "--std", "0"}, says: []string{"--std"}},
		{name: "mean NaN", args: []string{"run", f.model, "-i", f.picture, "--mean", "NaN"}, says: []string{"--mean"}},
		{name: "no runs", args: []string{"bench", f.model, "--runs", "0"}, says: []string{"--runs"}},
		{name: "negative duration", args: []string{"bench", f.model, "--duration", "-1s"}, says: []string{"--duration"}},
		{name: "runs and duration", args: []string{"bench", f.model, "--runs", "3", "--duration", "1s"}, says: []string{"exclude"}},
		{name: "no concurrency", args: []string{"bench", f.model, "--concurrency", "0"}, says: []string{"--concurrency"}},
		{name: "negative warm-up", args: []string{"bench", f.model, "--warmup", "-1"}, says: []string{"--warmup"}},
		{name: "bad pattern", args: []string{"conformance", f.dir, "--filter", "["}, says: []string{"--filter"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.code, tc.status = usage, "INVALID_ARGUMENT"
			tc.check(t)
		})
	}
	t.Run("nothing but --json", func(t *testing.T) {
		r := nngpu(t, "--json")
		require.Equal(t, usage, r.code)
		require.Equal(t, []string{"error", "status"}, keys(object(t, r.stdout)))
	})
}

func TestBadModelFile(t *testing.T) {
	f := newFiles(t)
	good := read(t, f.model)
	for _, tc := range []bad{
		{name: "missing", args: []string{f.dir + "/absent.tflite"}, code: usage, says: []string{"absent.tflite", "no such file"}},
		{name: "folder", args: []string{f.dir}, code: usage, says: []string{"folder"}},
		{name: "device file", args: []string{os.DevNull}, code: usage, says: []string{"regular file"}},
		{name: "pipe", args: []string{f.pipe(t, "pipe.tflite")}, code: usage, says: []string{"regular file"}},
		{name: "socket", args: []string{f.socket(t)}, code: usage, says: []string{"regular file"}},
		{name: "empty", args: []string{f.put(t, "empty.tflite", nil)}, code: usage, says: []string{"empty"}},
		{name: "text", args: []string{example(t, "README.md")}, code: usage, says: []string{"TFL3", ".tflite files"}},
		{name: "truncated", args: []string{f.put(t, "cut.tflite", good[:len(good)/2])}, code: usage, says: []string{"not a whole one"}},
		{name: "8 bytes", args: []string{f.put(t, "short.tflite", good[:8])}, code: usage, says: []string{"not a whole one"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.status = "INVALID_ARGUMENT"
			for _, sub := range [][]string{{"run", "-i", f.picture, "-o", "out"}, {"inspect"}, {"bench", "--runs", "1"}} {
				b := tc
				b.args = append(append([]string{}, sub...), tc.args...)
				b.check(t)
			}
		})
	}
}

func TestBadInputFile(t *testing.T) {
	f := newFiles(t)
	device := anyDevice(t)
	six := floats(1, 2, 3, 4, 5, 6)
	x := f.put(t, "x.bin", six)
	picture := read(t, f.picture)
	array := func(name, descr, order, shape string, data []byte) []string {
		return []string{f.put(t, name+".npy", npy(descr, order, shape, data)), x}
	}
	for _, tc := range []struct {
		name   string
		model  string
		inputs []string
		says   []string
	}{
		{"none", f.pair, nil, []string{"input 0 (left) is missing", `"right"`}},
		{"one of two", f.pair, []string{x}, []string{"input 1 (right) is missing"}},
		{"three of two", f.pair, []string{x, x, x}, []string{"one too many", "2 inputs"}},
		{"name that is none", f.pair, []string{"middle=" + x, x}, []string{`"middle"`, `"left" "right"`}},
		{"name twice", f.pair, []string{"left=" + x, "left=" + x}, []string{"twice"}},
		{"name without file", f.pair, []string{"left=", x}, []string{"left=FILE"}},
		{"empty", f.pair, []string{"", x}, []string{"--input is empty"}},
		{"missing file", f.pair, []string{f.dir + "/absent.bin", x}, []string{"absent.bin", "no such file"}},
		{"folder", f.pair, []string{f.pairFolder(t), x}, []string{"folder"}},
		{"pipe that nobody writes to", f.pair, []string{f.pipe(t, "pipe.npy"), x}, []string{"regular file"}},
		{"another kind of file", f.pair, []string{f.put(t, "x.gif", six), x}, []string{".npy", ".bin"}},
		{"too short", f.pair, []string{f.put(t, "short.bin", six[1:]), x}, []string{"23 bytes", "takes 24", "[1 2 3]"}},
		{"too long", f.pair, []string{f.put(t, "long.bin", append(six, 0)), x}, []string{"25 bytes", "takes 24"}},
		{"empty file", f.pair, []string{f.put(t, "empty.bin", nil), x}, []string{"0 bytes", "takes 24"}},
		{"picture for numbers", f.pair, []string{f.picture, x}, []string{"picture", ".npy or .bin"}},
		{"npy: no such format", f.pair, []string{f.put(t, "text.npy", []byte("1 2 3 4 5 6")), x}, []string{"not a .npy file"}},
		{"npy: type", f.pair, array("f8", "<f8", "False", "(1, 2, 3)", append(six, six...)), []string{`"<f8"`, `"<f4"`, "astype"}},
		{"npy: byte order", f.pair, array("be", ">f4", "False", "(1, 2, 3)", six), []string{`">f4"`}},
		{"npy: shape", f.pair, array("shape", "<f4", "False", "(6,)", six), []string{"[6]", "[1 2 3]"}},
		{"npy: Fortran order", f.pair, array("fortran", "<f4", "True", "(1, 2, 3)", six), []string{"Fortran", "ascontiguousarray"}},
		{"npy: cut", f.pair, array("cut", "<f4", "False", "(1, 2, 3)", six[:20]), []string{"20 bytes", "24 expected"}},
		{"npy: cut in the header", f.pair, []string{f.put(t, "head.npy", npy("<f4", "False", "(1, 2, 3)", six)[:40]), x}, []string{"header"}},
		{"npy: huge header", f.pair, []string{f.put(t, "huge.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff")), x}, []string{"header"}},
		{"npy: pickled objects", f.pair, array("object", "|O", "False", "(1, 2, 3)", six), []string{`"|O"`}},
		{"text as a picture", f.model, []string{f.put(t, "text.png", []byte("hello"))}, []string{"not a picture"}},
		{"cut picture", f.model, []string{f.put(t, "cut.png", picture[:len(picture)/2])}, []string{"damaged picture"}},
		{"picture of 10^18 pixels", f.model, []string{f.put(t, "bomb.png", hugePNG())}, []string{"pixels"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{"run", tc.model, "--output", "out", "--device", device}
			for _, in := range tc.inputs {
				args = append(args, "--input", in)
			}
			(&bad{args: args, code: usage, status: "INVALID_ARGUMENT", says: tc.says}).check(t)
		})
	}
}

// pipe is one that nobody writes to.
func (f *files) pipe(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// socket is one that nobody listens on; its name must be short.
func (f *files) socket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(f.dir, "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return path
}

// pairFolder is a folder with the name of an input file.
func (f *files) pairFolder(t *testing.T) string {
	t.Helper()
	path := filepath.Join(f.dir, "folder.bin")
	require.NoError(t, os.MkdirAll(path, 0o755))
	return path
}

// hugePNG says that it has 10^9 by 10^9 pixels, in a few bytes.
func hugePNG() []byte {
	chunk := func(kind string, data []byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		b = append(append(b, kind...), data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
	}
	head := binary.BigEndian.AppendUint32(nil, 1e9)
	head = append(binary.BigEndian.AppendUint32(head, 1e9), 8, 2, 0, 0, 0)
	var data bytes.Buffer
	_ = zlib.NewWriter(&data).Close()
	b := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", head)...)
	return append(append(b, chunk("IDAT", data.Bytes())...), chunk("IEND", nil)...)
}

// TestBadConformanceFile has what would be waited for, and what would take gigabytes.
func TestBadConformanceFile(t *testing.T) {
	device := anyDevice(t)
	f := newFiles(t)
	f.pipe(t, "add.jsonl.gz")
	(&bad{args: []string{"conformance", f.dir, "--device", device}, code: usage, says: []string{"add.jsonl.gz", "regular file"}}).check(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(`{"name": "x", "main": {"operands": [` + strings.Repeat("{},", 22_000_000)))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	f = newFiles(t)
	f.put(t, "add.jsonl.gz", b.Bytes())
	(&bad{args: []string{"conformance", f.dir, "--device", device}, code: usage, says: []string{"add.jsonl.gz:1", "line longer"}}).check(t)
}

func TestBadLabelsAndOutput(t *testing.T) {
	f := newFiles(t)
	device := anyDevice(t)
	inTheWay := f.put(t, "file", []byte("x"))
	occupied := filepath.Join(f.dir, "occupied")
	require.NoError(t, os.MkdirAll(filepath.Join(occupied, "output_0.bin"), 0o755))
	before := listing(t, f.dir)
	for _, tc := range []struct {
		name string
		args []string
		says []string
	}{
		{"missing labels", []string{"--labels", f.dir + "/absent.txt"}, []string{"absent.txt", "no such file"}},
		{"folder of labels", []string{"--labels", f.dir}, []string{"folder"}},
		{"empty labels", []string{"--labels", f.put(t, "empty.txt", nil)}, []string{"no labels"}},
		{"labels that are no text", []string{"--labels", f.model}, []string{"no labels"}},
		{"output is a file", []string{"--output", inTheWay}, []string{"not a folder"}},
		{"output below a file", []string{"--output", filepath.Join(inTheWay, "out")}, []string{"not a directory"}},
		{"output where nothing can be written", []string{"--output", "/proc/nngpu"}, []string{"/proc/nngpu"}},
		{"a folder in the way of the output", []string{"--output", occupied}, []string{"output_0.bin", "in the way"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"run", f.model, "-i", f.picture, "--device", device}, tc.args...)
			(&bad{args: args, code: usage, says: tc.says}).check(t)
		})
	}
	require.Subset(t, append(before, filepath.Join(f.dir, "empty.txt")), listing(t, f.dir), "something was left behind")
}

func TestUnsupportedOperators(t *testing.T) {
	device := anyDevice(t)
	tensor := tflitegen.Tensor{Name: "x", Shape: []int{1, 4}}
	model := network(t, tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{tensor, tensor, tensor}, Inputs: []int{0}, Outputs: []int{2},
		Operators: []tflitegen.Op{
			{Code: tflitegen.OpCumsum, Inputs: []int{0, 0}, Outputs: []int{1}, Options: tflitegen.CumsumOptions{}},
			{Code: tflitegen.OpCustom, CustomCode: "MyOwn", Inputs: []int{1}, Outputs: []int{2}},
		},
	})
	x := write(t, filepath.Join(t.TempDir(), "x.bin"), floats(1, 2, 3, 4))
	says := []string{"CUMSUM", `"MyOwn"`}
	(&bad{args: []string{"run", model, "-i", x, "-o", "out", "--device", device}, code: refused, status: "INVALID_ARGUMENT", says: says}).check(t)
	(&bad{args: []string{"bench", model, "--device", device}, code: refused, says: says}).check(t)
	r := nngpu(t, "inspect", model, "--device", device)
	require.Equal(t, refused, r.code)
	require.Contains(t, r.stdout, "refused: operator 0 CUMSUM")
	require.Contains(t, r.stdout, "refused: operator 1 custom")
	r = nngpu(t, "inspect", model, "--device", device, "--json")
	require.Equal(t, refused, r.code)
	v := object(t, r.stdout)
	require.Equal(t, "TENSOR_FLOAT32", v["inputs"].([]any)[0].(map[string]any)["type"], "as for a model that is not refused")
	require.NotContains(t, v, "device", "none was asked")
}
