package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"plain", "Conv2D/weights: 1×3 °C", "Conv2D/weights: 1×3 °C"},
		{"right to left letters", "שלום خط اردو", "שלום خط اردو"},
		{"other scripts and marks", "猫 кот naïve e\u0301 한글 ไทย 🐈\ufe0f", "猫 кот naïve e\u0301 한글 ไทย 🐈\ufe0f"},
		{"escape", "a\x1b[2Jb", `a\x1b[2Jb`},
		{"OSC, ended by BEL", "\x1b]0;title\a", `\x1b]0;title\x07`},
		{"C1 as a character", "a\u009b31mb\u0085", `a\u009b31mb\u0085`},
		{"C1 as a byte", "a\x9b31mb", `a\x9b31mb`},
		{"line ends", "a\nb\r\nc\td", `a\nb\r\nc\td`},
		{"NUL and DEL", "a\x00b\x7f", `a\x00b\x7f`},
		{"bidi", "a\u202eb\u2066c\u2069\u200e\u200f\u061c", `a\u202eb\u2066c\u2069\u200e\u200f\u061c`},
		{"separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"zero width", "a\u200bb\ufeffc\u00add\u3164", `a\u200bb\ufeffc\u00add\u3164`},
		{"tags", "a\U000e0041", `a\U000e0041`},
		{"invalid", "a\xffb\xc3", `a\xffb\xc3`},
		{"surrogates", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"private use", "\ue000", `\ue000`},
		{"replacement character", "\ufffd", "\ufffd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, clean(tc.text))
			var b bytes.Buffer
			printf(&b, "%s|%v|%d\n", tc.text, errors.New(tc.text), 7)
			require.Equal(t, tc.want+"|"+tc.want+"|7\n", b.String())
		})
	}
}

func TestPrintf(t *testing.T) {
	var b bytes.Buffer
	printf(&b, "%-6s|%4d|%.1f|%*d|%v|%q|%v\n", "é", 3, 1.25, 3, 7, []string{"a\nb", "\x1b"}, "\x1b", 1500*time.Millisecond)
	require.Equal(t, "é     |   3|1.2|  7|[a\\nb \\x1b]|\"\\x1b\"|1.5s\n", b.String())
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("é", 30_000)
	require.Equal(t, strings.Repeat("é", maxName)+"… (60000 bytes)", brief(long))
	require.Equal(t, strings.Repeat("é", maxName), brief(strings.Repeat("é", maxName)))
	text := clean("begin " + long + " end")
	require.Less(t, len([]rune(text)), maxText+50)
	require.True(t, strings.HasPrefix(text, "begin é") && strings.HasSuffix(text, "é end"), "%.20s", text)
	require.Contains(t, text, "… (60010 bytes) …")
	require.Equal(t, long[:2*maxText], clean(long[:2*maxText]))
	invalid := clean(strings.Repeat("\xff", 60_000))
	require.Contains(t, invalid, "(60000 bytes)")
	require.Less(t, len(invalid), 4*maxText+50)
}

// TestOutput writes what is cut anywhere.
func TestOutput(t *testing.T) {
	text := "ok\tשלום\n\x1b[2J\u009b\x9b\u202e\r\x00"
	for cut := range len(text) {
		var b bytes.Buffer
		o := &output{w: &b}
		for _, part := range []string{text[:cut], text[cut:]} {
			n, err := o.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		requireVisible(t, b.String())
	}
	o := &output{w: failingWriter{}}
	_, err := o.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, o.err, os.ErrClosed)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func requireVisible(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		require.True(t, visible(r) || r == '\n' || r == '\t', "%U at %d", r, i)
	}
}

func TestWriteJSON(t *testing.T) {
	value := map[string]string{"<a> \u009b\u202e\u0085": "\x1b\n\x7f\u2028\u200b\U000e0041 שלום 🐈"}
	var b bytes.Buffer
	require.NoError(t, writeJSON(&output{w: &b}, value, "  "))
	requireVisible(t, b.String())
	require.Contains(t, b.String(), `\u202e`)
	require.Contains(t, b.String(), `שלום 🐈`)
	var got map[string]string
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, value, got)
}

// TestPrintedInOnePlace finds what the package prints beside printf and writeJSON.
func TestPrintedInOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if name == "text.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, _ := s.X.(*ast.Ident)
			if from != nil && (from.Name == "fmt" && (strings.HasPrefix(s.Sel.Name, "Fprint") || strings.HasPrefix(s.Sel.Name, "Print")) ||
				from.Name == "json" && s.Sel.Name == "NewEncoder" || from.Name == "io" && s.Sel.Name == "WriteString" ||
				from.Name == "os" && (s.Sel.Name == "Stdout" || s.Sel.Name == "Stderr") && name != "main.go") {
				t.Errorf("%v: %s.%s; printf and writeJSON print", set.Position(n.Pos()), from.Name, s.Sel.Name)
			}
			return true
		})
	}
}

// TestDriversNamesAreCleaned prints a device as a hostile Vulkan driver may call it.
func TestDriversNamesAreCleaned(t *testing.T) {
	const name = "GPU\x1b[2J\u202e\nFORGED"
	var b bytes.Buffer
	a := &app{out: &output{w: &b}, err: &output{w: &b}, verbose: true}
	d := &infoDevice{Name: name, Driver: name, APIVersion: name, Type: name, Class: name, Variants: name, Limits: &infoLimits{}, Features: &infoFeatures{}, GlobalPriority: name, Queues: 1}
	a.printDevice(d)
	d.Unusable = name
	a.printDevice(d)
	a.note("device: %s", name)
	a.warn("%v", errors.New(name))
	for line := range strings.Lines(b.String()) {
		requireVisible(t, line)
		require.False(t, strings.HasPrefix(line, "FORGED"), "%q", b.String())
	}
	require.Contains(t, b.String(), `GPU\x1b[2J\u202e\nFORGED`)
}
