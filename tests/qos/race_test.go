//go:build race

package qos

const raced = true
