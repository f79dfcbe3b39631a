package diskerr

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"aibox/internal/fault"
)

func TestDiskErrorNamesTheDiskAndTheFix(t *testing.T) {
	for want, err := range map[string]error{
		"the disk of /data is full":                      fmt.Errorf("storing: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}),
		"the disk of /data is full: fatal":               errors.New("fatal: write error: No space left on device"),
		"the disk of /data is full for you":              errors.New("fatal: sha1 file 'x' write error: Disk quota exceeded"),
		"the disk of /data is read-only":                 syscall.EROFS,
		"the disk of /data is read-only: fatal: cannot ": errors.New("fatal: cannot create 'x': Read-only file system"),
		"the disk of /data is full: sha1 file":           errors.New("sha1 file 'x' write error. Out of diskspace"),
	} {
		explained := Explain(err, "/data")
		if !Is(err) || !strings.HasPrefix(explained.Error(), want) || fault.KindOf(explained) != fault.Environment || len(fault.Hints(explained)) != 1 {
			t.Errorf("%v is reported as %v, %q", err, explained, fault.Hints(explained))
		}
		if strings.Contains(fmt.Sprint(fault.Hints(explained)), "%!") {
			t.Errorf("the hint is %q", fault.Hints(explained))
		}
		if again := Explain(fmt.Errorf("computing: %w", explained), "/other"); !Is(again) || strings.Contains(again.Error(), "/other") {
			t.Errorf("explained twice it is %v", again)
		}
	}
}

func TestOtherErrorsAreUnchanged(t *testing.T) {
	for _, err := range []error{
		nil, syscall.EIO, errors.New("the disk"),
		errors.New("git: exit status 128: remote: fatal: write error: No space left on device\nfatal: early EOF"),
		errors.New("git: exit status 128: error: x\nremote: warning: Disk quota exceeded"),
		errors.New("git: exit status 128: fatal: remote error: Read-only file system"),
	} {
		if Is(err) || Explain(err, "/data") != err { //nolint:errorlint // the identical error
			t.Errorf("%v is reported as %v", err, Explain(err, "/data"))
		}
	}
}
