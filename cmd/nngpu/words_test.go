package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	require.Equal(t, "0 segments", count(0, "segment"))
	require.Equal(t, "1 segment", count(1, "segment"))
	require.Equal(t, "2 segments", count(2, "segment"))
	require.Equal(t, "1 entry", count(1, "entry"))
	require.Equal(t, "3 entries", count(3, "entry"))
	require.Equal(t, "1 dispatch", count(1, "dispatch"))
	require.Equal(t, "40 dispatches", count(40, "dispatch"))
}
