//go:build !race

package nntest

// Raced: the race detector watches, so that times mean little.
const Raced = false
