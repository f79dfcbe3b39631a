package review_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain puts the tests' folders into the folder AIBOX_TEST_MEMORY, which should be in
// memory: git and aibox write and sync thousands of small files. Tests about disks make
// their own.
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
