package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a kit whose one program is a shell script, and the arguments that run it.
func script(t *testing.T, text string) (*kit, []string) {
	t.Helper()
	dir := t.TempDir()
	k := &kit{dir: dir, out: filepath.Join(dir, "out"), env: os.Environ(), about: "a device"}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.MkdirAll(k.work(), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "program"), []byte("#!/bin/sh\n"+text), 0o755))
	return k, []string{"program", "%W", "%O", "%D"}
}

// TestSteps: how a step ended is told, whatever happened, and its JSON kept.
func TestSteps(t *testing.T) {
	for _, tc := range []struct {
		name, text     string
		limit          time.Duration
		ended          string
		result, output string
	}{
		{"JSON", `echo '{"a": 1}'; echo said >&2`, time.Minute, "ok", `{"a": 1}`, "said"},
		{"text", `echo line`, time.Minute, "ok", "", "line"},
		{"folders", `echo "${1##*/} ${2##*/} ${3##*/}"`, time.Minute, "ok", "", "work out data"},
		{"failure", `echo half; exit 3`, time.Minute, "exit code 3", "", "half"},
		{"killed", `kill -9 $$`, time.Minute, "signal: killed", "", ""},
		{"hangs", `sleep 60 & sleep 60`, time.Second, "stopped after 1 s", "", ""},
		{"no time", `echo never`, time.Millisecond, "left out: the time of the part is used up", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k, args := script(t, tc.text)
			o := k.runStep(context.Background(), step{Name: tc.name, Args: args, Limit: tc.limit}, time.Hour)
			require.Equal(t, tc.ended, o.Ended)
			require.Equal(t, tc.result, string(o.Result))
			require.Equal(t, tc.output, o.Output)
		})
	}
	k, _ := script(t, "")
	o := k.runStep(context.Background(), step{Args: []string{"no-such-program"}, Limit: time.Minute, Optional: true}, time.Hour)
	require.Equal(t, "left out: there is no no-such-program", o.Ended)
	o = k.runStep(context.Background(), step{Args: []string{"no-such-program"}, Limit: time.Minute}, time.Hour)
	require.Contains(t, o.Ended, "not found")
}

// TestPart: a step that fails keeps no other from running, the part's time bounds all of them, and both files are written.
func TestPart(t *testing.T) {
	k, args := script(t, `echo '{"name": "x|y", "rate": 12.34567, "rows": [{"a": 1}, {"a": 2, "b": [1, {"c": true}]}]}'; exit 1`)
	p := part{name: "facts", what: "a test", limit: 3 * time.Second, steps: func(*kit) []step {
		return []step{
			{Name: "first", Args: args, Limit: time.Minute}, {Name: "second", Args: []string{"sleep", "60"}, Limit: time.Minute},
			{Name: "third", Args: args, Limit: time.Minute},
		}
	}}
	r := k.runPart(context.Background(), p)
	require.Equal(t, 2, r.failures())
	require.Equal(t, "exit code 1", r.Steps[0].Ended)
	require.Equal(t, "stopped after 3 s", r.Steps[1].Ended)
	require.Contains(t, r.Steps[2].Ended, leftOut)
	require.NoError(t, k.write(r))
	var kept report
	data, err := os.ReadFile(filepath.Join(k.out, "facts.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &kept))
	require.Len(t, kept.Steps, 3)
	require.Equal(t, "a device", kept.Device)
	text, err := os.ReadFile(filepath.Join(k.out, "facts.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "| first | exit code 1 | ")
	require.Contains(t, string(text), "- name: x|y\n- rate: 12.35\n\nrows:\n\n| a | b |\n|---|---|\n| 1 |  |\n| 2 | 1, c true |\n")
	require.NotContains(t, string(text), "## third")
}

// TestBundle: what comes out is what went in, with what programs have in common stored once, and damage is told.
func TestBundle(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{})
	random := func(n int) []byte {
		b := make([]byte, n)
		_, _ = rng.Read(b) // never fails
		return b
	}
	common := random(1 << 20)
	programs := map[string][]byte{
		"first": slices.Concat(random(1000), common), "second.test": slices.Concat(random(77), common[5000:], random(3), common[:9999]),
		"empty": nil, "small": []byte("abc"), "same": bytes.Repeat([]byte{7}, 5000), "third": common,
	}
	from, to := t.TempDir(), t.TempDir()
	var files []string
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		files = append(files, filepath.Join(from, name))
		require.NoError(t, os.WriteFile(files[len(files)-1], programs[name], 0o755))
	}
	path := filepath.Join(t.TempDir(), "bundle")
	require.NoError(t, writeBundle(path, files))
	require.NoError(t, readBundle(path, to))
	for name, want := range programs {
		got, err := os.ReadFile(filepath.Join(to, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), name)
	}
	packed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, len(packed), len(common)+5000)

	for i := range 40 {
		damaged := slices.Clone(packed)
		damaged[20+rng.Uint64()%uint64(len(damaged)-20)] ^= byte(1 + i)
		require.NoError(t, os.WriteFile(path, damaged, 0o644))
		require.Error(t, readBundle(path, to), i)
	}
	require.NoError(t, os.WriteFile(path, packed[:len(packed)/2], 0o644))
	require.Error(t, readBundle(path, to))
}

// TestHostileBundle: pieces that reach beyond what is there, and names that are paths.
func TestHostileBundle(t *testing.T) {
	for name, data := range map[string][]byte{
		"name is a path":        {1, 3, '/', 'a', 'b', 0},
		"name is a folder":      {1, 2, '.', '.', 0},
		"offset beyond":         {1, 1, 'a', 9, 0, 5, 1},
		"length beyond":         {1, 1, 'a', 9, 1, 'x', 0, 2},
		"more than the program": {1, 1, 'a', 1, 2, 'x', 'y', 0, 0},
		"nothing at all":        {1, 1, 'a', 1, 0, 0, 0},
		"huge":                  binary.AppendUvarint([]byte{1, 1, 'a'}, 1<<40),
		"endless number":        bytes.Repeat([]byte{0xff}, 20),
		"cut":                   {1, 1, 'a', 9, 9, 'x'},
	} {
		path := filepath.Join(t.TempDir(), "bundle")
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(data)
		require.NoError(t, errors.Join(err, z.Close()))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
		require.Error(t, readBundle(path, t.TempDir()), name)
	}
}

func TestChoose(t *testing.T) {
	names := func(list []part) (names []string) {
		for _, p := range list {
			names = append(names, p.name)
		}
		return names
	}
	list, err := choose([]string{"qos", "facts", "qos"})
	require.NoError(t, err)
	require.Equal(t, []string{"facts", "qos"}, names(list))
	list, err = choose([]string{"first"})
	require.NoError(t, err)
	require.Equal(t, []string{"facts", "right", "bench", "gemm", "profile"}, names(list))
	list, err = choose([]string{"all"})
	require.NoError(t, err)
	require.Equal(t, partNames(), names(list))
	_, err = choose([]string{"fact"})
	require.ErrorContains(t, err, `no part "fact"`)
	_, err = choose(nil)
	require.Error(t, err)
}

// TestProfiles: the networks that reach the least of their ceilings, of all results that are there.
func TestProfiles(t *testing.T) {
	k, _ := script(t, "")
	require.Equal(t, []string{"mobilenet_v2, int8", "resnet50, f32"}, stepNames(profiles(k)), "without results")
	for name, rows := range map[string]string{
		"f32":  `{"network": "a", "type": "f32", "percent": 20.5}, {"network": "gemm:1,1,1", "type": "f32", "percent": 1}`,
		"int8": `{"network": "a", "type": "int8", "percent": 20.4}, {"network": "b", "type": "int8", "error": "no"}, {"network": "c", "type": "int8", "percent": 3}`,
		"f16":  `nonsense`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(k.out, "suite-"+name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(k.out, "suite-"+name, "suite.json"), []byte(`{"rows": [`+rows+`]}`), 0o644))
	}
	require.Equal(t, []string{"c, int8", "a, int8"}, stepNames(profiles(k)))
}

func stepNames(steps []step) (names []string) {
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return names
}

// TestLimits: each part stays below nine minutes, and the first ones within 25 together.
func TestLimits(t *testing.T) {
	var first time.Duration
	for i, p := range parts {
		require.Less(t, p.limit, 9*time.Minute, p.name)
		if i < firstParts {
			first += p.limit
		}
	}
	require.LessOrEqual(t, first, 25*time.Minute)
	// Nothing of these is left out on a slow device.
	for _, name := range []string{"bench", "gemm"} {
		list, err := choose([]string{name})
		require.NoError(t, err)
		for _, software := range []bool{false, true} {
			var all time.Duration
			for _, s := range list[0].steps(&kit{software: software}) {
				all += s.Limit
			}
			require.LessOrEqual(t, all, list[0].limit, name)
		}
	}
}
