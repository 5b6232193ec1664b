package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	require.Equal(t, "0 segments", Count(0, "segment"))
	require.Equal(t, "1 segment", Count(1, "segment"))
	require.Equal(t, "2 segments", Count(2, "segment"))
	require.Equal(t, "1 entry", Count(1, "entry"))
	require.Equal(t, "3 entries", Count(3, "entry"))
	require.Equal(t, "1 dispatch", Count(1, "dispatch"))
	require.Equal(t, "40 dispatches", Count(40, "dispatch"))
}

func TestOneLine(t *testing.T) {
	require.Equal(t, "a b; c", OneLine(" a \t b\n\n  c\n"))
	require.Equal(t, "", OneLine("\n"))
}
