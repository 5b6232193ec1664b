package importer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFormats: the first format that matches is taken, and a program that links none says so.
func TestFormats(t *testing.T) {
	formatsMu.Lock()
	saved := formats
	formats = nil
	formatsMu.Unlock()
	defer func() { formats = saved }()
	_, err := Parse([]byte("0123456789"))
	require.ErrorContains(t, err, "the program links no format")
	for _, name := range []string{"one", "two"} {
		Register(Format{
			Name: name, Extension: "." + name, Mark: "digits", Matches: func(head []byte) bool { return string(head) == "01234567" },
			Import: func([]byte) (*Network, error) { return &Network{Description: name}, nil },
		})
	}
	n, err := Parse([]byte("0123456789"))
	require.NoError(t, err)
	require.Equal(t, "one", n.Description)
	_, err = Parse([]byte("012"))
	require.ErrorContains(t, err, "one (.one, digits), two (.two, digits)")
}
