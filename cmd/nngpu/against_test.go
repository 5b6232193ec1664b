package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
)

func TestParseRival(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "a:high.tflite")
	plain := filepath.Join(dir, "b.tflite")
	for _, path := range []string{odd, plain} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for _, tc := range []struct {
		text     string
		path     string
		priority nn.Priority
	}{
		{plain, plain, nn.PriorityLow},
		{plain + ":low", plain, nn.PriorityLow},
		{plain + ":medium", plain, nn.PriorityMedium},
		{plain + ":HIGH", plain, nn.PriorityHigh},
		{odd, odd, nn.PriorityLow},
		{odd + ":high", odd, nn.PriorityHigh},
		{"no/such:file", "no/such:file", nn.PriorityLow},
	} {
		r, err := parseRival(tc.text)
		require.NoError(t, err, tc.text)
		require.Equal(t, rival{tc.path, tc.priority}, r, tc.text)
	}
	for _, text := range []string{"", ":low", plain + ":lowest"} {
		_, err := parseRival(text)
		require.Error(t, err, text)
	}
}
