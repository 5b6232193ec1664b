//go:build !window

package command

// buildTags are those of the command under test.
const buildTags = ""
