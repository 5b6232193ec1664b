package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/internal/devices"
)

// TestRequests: what is right is answered, and what is wrong has its status.
func TestRequests(t *testing.T) {
	digits, err := load("../digits/digits_s8.tflite")
	require.NoError(t, err)
	seven := sample(t, 7)
	wide := promise(maxSide+1, 1)
	var transparent, asJPEG, asGIF bytes.Buffer
	require.NoError(t, png.Encode(&transparent, image.NewNRGBA64(image.Rect(0, 0, 3, 200))))
	decoded, err := png.Decode(bytes.NewReader(seven))
	require.NoError(t, err)
	require.NoError(t, jpeg.Encode(&asJPEG, decoded, nil))
	require.NoError(t, gif.Encode(&asGIF, decoded, nil))
	type request struct {
		name, path string
		deadlines  []string
		body       []byte
		want       int
		label      string // "": any
	}
	list := []request{
		{name: "no deadline", path: batch, body: seven, want: 200, label: "7"},
		{name: "JPEG", path: interactive, body: asJPEG.Bytes(), want: 200, label: "7"},
		{name: "transparent", path: interactive, body: transparent.Bytes(), want: 200},
		{name: "longest deadline", path: interactive, deadlines: []string{"30000"}, body: seven, want: 200, label: "7"},
		{name: "two deadlines", path: interactive, deadlines: []string{"50", "50"}, body: seven, want: 400},
		{name: "empty", path: interactive, want: 415},
		{name: "no picture", path: interactive, body: []byte("a picture"), want: 415},
		{name: "GIF", path: interactive, body: asGIF.Bytes(), want: 415},
		{name: "half a picture", path: interactive, body: seven[:len(seven)/2], want: 400},
		{name: "header only", path: interactive, body: seven[:20], want: 400},
		{name: "changed", path: interactive, body: changed(seven), want: 400},
		{name: "a file too large", path: interactive, body: make([]byte, maxBody+1), want: 413},
		{name: "a picture too wide", path: interactive, body: wide, want: 413},
		{name: "a picture that promises too much", path: interactive, body: promise(1<<20, 1<<20), want: 413},
		{name: "no size", path: interactive, body: promise(0, 0), want: 400},
		{name: "no such tier", path: "/classify/royal", body: seven, want: 404},
		{name: "no tier", path: "/classify/", body: seven, want: 404},
	}
	for d := range 10 {
		list = append(list, request{name: strconv.Itoa(d), path: interactive, body: sample(t, d), want: 200, label: strconv.Itoa(d)})
	}
	for _, bad := range []string{"", "0", "-5", "+5", "1.5", "5ms", "1e3", "0x10", "30001", "18446744073709551616"} {
		list = append(list, request{name: "deadline " + strconv.Quote(bad), path: interactive, deadlines: []string{bad}, body: seven, want: 400})
	}
	devices.EachNamed(t, func(t *testing.T, device string) {
		x := start(t, devices.Open(t, device), digits)
		for _, tc := range list {
			t.Run(tc.name, func(t *testing.T) {
				q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url+tc.path, bytes.NewReader(tc.body))
				require.NoError(t, err)
				q.Header[deadlineHeader] = tc.deadlines
				r, err := x.do(q)
				require.NoError(t, err)
				require.Equal(t, tc.want, r.code, "%+v", r)
				require.Empty(t, r.Get("Retry-After"))
				if tc.want == http.StatusOK {
					require.Positive(t, r.DeviceMS)
					require.Greater(t, r.TotalMS, r.QueuedMS)
					require.False(t, r.Late)
					require.InDelta(t, 0.5, r.Score, 0.5)
				} else if tc.want != http.StatusNotFound {
					require.NotEmpty(t, r.Error)
				}
				if tc.label != "" {
					require.Equal(t, tc.label, r.Label)
				}
			})
		}
		t.Run("another method", func(t *testing.T) {
			code, _ := x.get(t, interactive)
			require.Equal(t, http.StatusMethodNotAllowed, code)
		})
		t.Run("pages", func(t *testing.T) {
			code, body := x.get(t, "/healthz")
			require.Equal(t, "200 ok\n", strconv.Itoa(code)+" "+body)
			code, body = x.get(t, "/metrics")
			require.Equal(t, 200, code)
			require.Contains(t, body, "\nserver_answers_total{tier=\"batch\",code=\"200\"} 1\n")
			require.Contains(t, body, "\nserver_answers_total{tier=\"interactive\",code=\"413\"} 3\n")
			require.Regexp(t, `\nnngpu_executions_total\{[^}]*priority="HIGH",status="NONE"\} 16\n`, body) // three of newService
			for line := range strings.Lines(body) {
				require.Regexp(t, `^(# (HELP|TYPE) .+|[a-z_]+(\{.*\})? \S+)\n$`, line)
			}
			code, body = x.get(t, "/debug/vars")
			require.Equal(t, 200, code)
			require.Contains(t, body, "memstats")
		})
	})
}

// promise is the beginning of a PNG file of any size in pixels: a signature and the header, RFC 2083.
func promise(width, height uint32) []byte {
	header := []byte("IHDR")
	header = binary.BigEndian.AppendUint32(header, width)
	header = binary.BigEndian.AppendUint32(header, height)
	header = append(header, 8, 2, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	file = append(file, header...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(header))
}

// changed is a file with one other byte in its middle.
func changed(file []byte) []byte {
	file = bytes.Clone(file)
	file[len(file)/2] ^= 0x55
	return file
}
