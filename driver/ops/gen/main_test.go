package main

import (
	"os"
	"testing"
)

// TestUpToDate: what is generated from the rows is what is committed.
func TestUpToDate(t *testing.T) {
	const root = "../../.."
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(root + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what the rows of driver/ops say: make generate", name)
		}
	}
}
