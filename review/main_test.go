package review_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain puts the tests' folders into memory where AIBOX_TEST_MEMORY names a folder
// there: they have git and the product write and sync thousands of small files, and no
// test here is about a disk that it has not made itself.
func TestMain(m *testing.M) {
	if dir := os.Getenv("AIBOX_TEST_MEMORY"); dir != "" {
		_ = os.Setenv("TMPDIR", dir)
	}
	if record := os.Getenv(memoryChild); record != "" {
		if err := measuredChild(record); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
