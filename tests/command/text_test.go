package command

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/importer/tflite/tflitegen"
)

// steering is what no terminal may get from a file: a cleared screen, a title, C1 characters, NUL, a line written over,
// text turned around, lines that are not this program's, what cannot be seen. The letters in it are harmless.
const steering = "\x1b[2J\x1b]0;owned\a\u009b31m\u0085\x00\r\u202e\u2066\u2069\u200e\u200f\u061c\u2028\u2029\u200b\ufeff\x7f" +
	"\nFORGED line\n\tשלום <b>&amp;"

// invalid is steering as bytes that are no characters.
const invalid = "\x9b31m\xff\xfe\xc0\x80\xed\xa0\x80" + steering

// enormous is as long as names of the importer may be.
var enormous = strings.Repeat("long", 15_000)

// requireTame checks that text holds nothing but what can be seen, in lines of this program.
func requireTame(t *testing.T, what, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text), "%s: %q", what, text)
	for i, r := range text {
		hidden := r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
		require.False(t, hidden, "%s: %U in %q", what, r, text[max(0, i-40):min(len(text), i+40)])
	}
	for line := range strings.Lines(text) {
		require.False(t, strings.HasPrefix(line, "FORGED"), "%s: %q", what, text)
	}
}

// tame runs the command for people and for programs, and returns the decoded JSON.
func tame(t *testing.T, c call) map[string]any {
	t.Helper()
	what := strings.Join(c.args[:min(2, len(c.args))], " ")
	plain := c.run(t)
	requireTame(t, what+": stdout", plain.stdout)
	requireTame(t, what+": stderr", plain.stderr)
	for line := range strings.Lines(plain.stdout + plain.stderr) {
		require.Less(t, len(line), 20_000, "%s: %.200q", what, line)
	}
	c.args = append([]string{"--json"}, c.args...)
	coded := c.run(t)
	require.Equal(t, plain.code, coded.code, "%s%s", coded.stdout, coded.stderr)
	requireTame(t, what+": JSON", coded.stdout)
	requireTame(t, what+": stderr beside JSON", coded.stderr)
	return object(t, coded.stdout)
}

// hostileNetwork writes pairNetwork with names of its tensors, a description and labels that are given, in a file with
// a name of its own.
func hostileNetwork(t *testing.T, file string, names [4]string, description string, labels []string) string {
	t.Helper()
	tensor := func(name string) tflitegen.Tensor {
		return tflitegen.Tensor{Name: name, Shape: []int{1, 2, 3}, Type: tflitegen.Float32}
	}
	m := tflitegen.Model{
		Description: description,
		Subgraphs: []tflitegen.Subgraph{{
			Name:    description,
			Tensors: []tflitegen.Tensor{tensor(names[0]), tensor(names[1]), tensor(names[2]), tensor(names[3])},
			Inputs:  []int{0, 1}, Outputs: []int{2, 3},
			Operators: []tflitegen.Op{
				{Code: tflitegen.OpAdd, Inputs: []int{0, 1}, Outputs: []int{2}, Options: tflitegen.AddOptions{}},
				{Code: tflitegen.OpMul, Inputs: []int{0, 1}, Outputs: []int{3}, Options: tflitegen.MulOptions{}},
			},
		}},
		Info: &tflitegen.ModelInfo{
			Name: description, Description: description, Inputs: make([]tflitegen.TensorInfo, 2),
			Outputs: []tflitegen.TensorInfo{{LabelFile: "labels.txt"}, {}},
		},
		Files: []tflitegen.Blob{{Name: "labels.txt", Data: []byte(strings.Join(labels, "\n"))}},
	}
	data, err := m.Marshal()
	require.NoError(t, err)
	return write(t, filepath.Join(t.TempDir(), file), data)
}

// hostileFile is a name that a file may have.
const hostileFile = "m\x1b[31m\u009b\u202e<script>&\"\nFORGED\xff.tflite"

func TestHostileNames(t *testing.T) {
	device := anyDevice(t)
	names := [4]string{steering, enormous, "../../" + steering, "/" + invalid}
	model := hostileNetwork(t, hostileFile, names, invalid+enormous, []string{steering[:6] + "\u202e", "\u009b" + enormous, "שלום"})
	x := write(t, filepath.Join(t.TempDir(), "x\x1b\n\u202e.bin"), floats(1, 2, 3, 4, 5, 6))
	flags := []string{"--device", device, "-v", "--cache-dir", t.TempDir() + "/c\u202e\x1b", "--state-dir", t.TempDir() + "/s\u009b"}
	with := func(args ...string) call { return call{args: append(args, flags...)} }

	v := tame(t, with("inspect", model))
	name := func(list string, i int) any { return v[list].([]any)[i].(map[string]any)["name"] }
	require.Equal(t, steering, name("inputs", 0), "the value is unchanged")
	require.Equal(t, enormous, name("inputs", 1))
	require.Equal(t, names[2], name("outputs", 0))
	shown := ok(t, "inspect", model, "--device", device).stdout
	require.Contains(t, shown, "שלום")
	require.Contains(t, shown, `\x1b[2J`)
	require.Contains(t, shown, "… (60000 bytes)")
	for line := range strings.Lines(shown) {
		require.Less(t, len(line), 1000, "%.200q", line)
	}

	v = tame(t, with("run", model, "-i", x, "-i", x))
	require.Equal(t, "\u009b"+enormous, v["top"].([]any)[4].(map[string]any)["label"], "of index 1")
	labels := write(t, filepath.Join(t.TempDir(), "labels\x1b\n.txt"), []byte("\x1b[31mred\n\u202egnorw\nשלום\n"+enormous+"\n\x00"))
	tame(t, with("run", model, "-i", x, "-i", x, "--labels", labels))
	tame(t, with("compile", model))
	tame(t, with("compile", model, "--dump", "plan"))
	tame(t, with("compile", model, "--dump", "ir"))
	tame(t, with("bench", model, "--runs", "2"))
	tame(t, with("bench", model, "--startup"))
	for _, sub := range []string{"ls", "verify", "stats", "path"} {
		tame(t, with("cache", sub))
	}
	// What is missing is named.
	tame(t, with("run", model))
	tame(t, with("run", model, "-i", x, "-i", x, "-i", x))
	tame(t, with("run", model, "-i", word(names[0])+"="+x, "-i", word(names[0])+"="+x))
	tame(t, with("run", model, "-i", word(names[0])+"="))
	tame(t, with("run", model, "-i", "n\x1b=f\n"))
}

// TestHostileOutputs: outputs lie in their folder whatever they are called.
func TestHostileOutputs(t *testing.T) {
	device, x := anyDevice(t), write(t, filepath.Join(t.TempDir(), "x.bin"), floats(1, 2, 3, 4, 5, 6))
	for i, name := range []string{
		"../../escaped", "/absolute", "..", ".", "", "a/b/c", "nul\x00", steering, invalid, strings.Repeat("n", 300), enormous,
		"output_1.bin", "output_0.npy",
	} {
		for _, format := range []string{"bin", "npy"} {
			t.Run(fmt.Sprintf("%d %s", i, format), func(t *testing.T) {
				root := t.TempDir()
				dir := filepath.Join(root, "a", "out")
				model := hostileNetwork(t, "m.tflite", [4]string{"l", "r", name, name}, "", nil)
				c := call{args: []string{"run", model, "-i", x, "-i", x, "-o", dir, "--format", format, "--device", device, "--no-cache"}, dir: root}
				v := tame(t, c)
				files := []string{filepath.Join(dir, "output_0."+format), filepath.Join(dir, "output_1."+format)}
				require.Equal(t, append([]string{root, filepath.Join(root, "a"), dir}, files...), listing(t, root))
				for k, o := range v["outputs"].([]any) {
					require.Equal(t, files[k], o.(map[string]any)["file"])
				}
			})
		}
	}
}

// TestHostilePlot names both networks in the title of a picture.
func TestHostilePlot(t *testing.T) {
	device := anyDevice(t)
	model := hostileNetwork(t, hostileFile, [4]string{"a", "b", "c", "d"}, "", nil)
	plot := filepath.Join(t.TempDir(), "p\x1b\u202e.svg")
	tame(t, call{args: []string{"bench", model, "--against", model, "--duration", "100ms", "--plot", plot, "--device", device, "--no-cache"}})
	svg := read(t, plot)
	requireTame(t, "picture", strings.ReplaceAll(string(svg), "\t", " "))
	require.NotContains(t, string(svg), "<script")
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

// TestHostileRefusals has names in what is refused.
func TestHostileRefusals(t *testing.T) {
	device := anyDevice(t)
	tensor := func(name string) tflitegen.Tensor { return tflitegen.Tensor{Name: name, Shape: []int{1, 4}} }
	model := func(g tflitegen.Subgraph) string {
		m := tflitegen.Model{Description: steering, Subgraphs: []tflitegen.Subgraph{g}, Unchecked: true}
		data, err := m.Marshal()
		require.NoError(t, err)
		return write(t, filepath.Join(t.TempDir(), hostileFile), data)
	}
	custom := model(tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{tensor(steering), tensor(enormous), tensor(invalid)}, Inputs: []int{0}, Outputs: []int{2},
		Operators: []tflitegen.Op{
			{Code: tflitegen.OpCustom, CustomCode: steering + enormous, Inputs: []int{0}, Outputs: []int{1}},
			{Code: tflitegen.OpCustom, CustomCode: invalid, Inputs: []int{1}, Outputs: []int{2}},
		},
	})
	port := tensor(invalid + enormous)
	port.Type = tflitegen.String
	words := model(tflitegen.Subgraph{
		Tensors: []tflitegen.Tensor{port, port}, Inputs: []int{0}, Outputs: []int{1},
		Operators: []tflitegen.Op{{Code: tflitegen.OpRelu, Inputs: []int{0}, Outputs: []int{1}}},
	})
	damaged := write(t, filepath.Join(t.TempDir(), hostileFile), append([]byte("\x08\x00\x00\x00\x1b[2J"), make([]byte, 64)...))
	for _, path := range []string{custom, words, damaged, damaged + "/absent", hostileFile} {
		for _, sub := range [][]string{{"inspect"}, {"compile"}, {"run", "-i", path}, {"bench", "--runs", "1"}, {"bench", "--startup"}, {"bench", "--against", path}} {
			tame(t, call{args: append(append(sub, path), "--device", device, "--no-cache")})
		}
	}
}

// TestHostileArguments has the steering in the command line and in variables.
func TestHostileArguments(t *testing.T) {
	device, dir := anyDevice(t), t.TempDir()
	const word = "w\x1b[31m\u009b\u202e\u2028\x9b\nFORGED"
	for _, args := range [][]string{
		{word}, {"help", word}, {"info", word}, {"run", word, word}, {"--" + word}, {"-" + word}, {"info", "--device", word},
		{"info", "--memory-budget", word}, {"run", "--mean", word, "m"}, {"bench", "m", "--duration", word}, {"bench", "m", "--io", word},
		{"run", "m", "--format", word}, {"run", "m", "--labels", word}, {"run", "m", "--output", dir + "/" + word + "/\x00"},
		{"compile", "m", "--dump", word}, {"conformance", dir, "--filter", "[" + word}, {"conformance", word}, {"verify", word},
		{"bench", "m", "--against", word + ":" + word}, {"bench", "m", "--against", "m", "--plot", word}, {"cache", word},
		{"cache", "rm", word, "--cache-dir", dir, "--state-dir", dir}, {"cache", "ls", "--cache-dir", "/dev/null/" + word}, {"completion", word},
	} {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "\x00", "") // no argument can hold one
		}
		tame(t, call{args: args})
	}
	for _, env := range []string{
		"NNGPU_VALIDATION=" + word, "NNGPU_SELFTEST=" + word, "NNGPU_VULKAN_LOADER=/" + word, "VK_DRIVER_FILES=/" + word, "NNGPU_DEVICE=" + word,
		"NNGPU_LAVAPIPE=/" + word,
	} {
		tame(t, call{args: []string{"inspect", example(t, "digits_s8.tflite")}, env: []string{"NNGPU_DEVICE=" + device, env}})
	}
	for _, words := range [][]string{{"__complete", "run", word}, {"__complete", word, ""}, {"__complete", "bench", "--io", word}} {
		r := nngpu(t, words...)
		requireTame(t, "completion", strings.ReplaceAll(r.stdout+r.stderr, "\t", " "))
	}
}

// TestHostileSuites has names in the folders of verify and in models of conformance.
func TestHostileSuites(t *testing.T) {
	device, root := anyDevice(t), t.TempDir()
	dir := pairFolder(t, root, "f\x1b\u202e\nFORGED")
	description := func(name, kind string) []byte {
		b, err := json.Marshal(map[string]any{
			"name": name, "format": map[string]any{"kind": kind},
			"cases": []any{map[string]any{"dir": word("../" + steering), "inputs": []any{1, 2}, "outputs": []any{1, 2}}},
		})
		require.NoError(t, err)
		return b
	}
	for _, kind := range []string{"tflite", steering + enormous} {
		write(t, filepath.Join(dir, "meta.json"), description(steering+enormous, kind))
		v := tame(t, call{args: []string{"verify", root, "--device", device}})
		require.Equal(t, steering+enormous, v["models"].([]any)[0].(map[string]any)["name"])
	}
	suite := t.TempDir()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	line, err := json.Marshal(map[string]any{"name": steering + enormous, "main": map[string]any{"operands": []any{map[string]any{"type": steering}}}})
	require.NoError(t, err)
	_, err = z.Write(line)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	write(t, filepath.Join(suite, "s\x1b\u202e\nFORGED.jsonl.gz"), b.Bytes())
	tame(t, call{args: []string{"conformance", suite, "--device", device}})
}

// word is s without what no name of a folder can hold.
func word(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// TestHelpAndCompletionAreUnchanged: what cobra writes passes the same writers, and is text already.
func TestHelpAndCompletionAreUnchanged(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help", "run"}, {"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"completion", "powershell"}} {
		out := ok(t, args...).stdout
		require.NotContains(t, out, `\u`, args)
		requireTame(t, "help", strings.ReplaceAll(out, "\t", " "))
	}
	if path, err := os.Stat("/bin/bash"); err == nil && path.Mode().IsRegular() {
		r := ok(t, "completion", "bash").stdout
		require.Contains(t, r, "__start_nngpu")
	}
}
