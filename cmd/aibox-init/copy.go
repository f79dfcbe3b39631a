package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/archive"
	"aibox/internal/pipe"
)

// The commands of init that copy files between the sandbox and its user. They run as
// processes in the sandbox, so that a symlink leads only to places in it.
const (
	packCommand   = "pack"
	unpackCommand = "unpack"
)

// copyBuffer is the size of the buffers of a copy, in bytes.
const copyBuffer = 256 << 10

// pack writes a file or folder as an archive; its args are PATH. It returns the exit code.
func pack(args []string, out, errs io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(errs, "usage: aibox-init pack PATH")
		return 2
	}
	buffered := bufio.NewWriterSize(out, copyBuffer)
	err := archive.Pack(buffered, args[0], func(name string) {
		fmt.Fprintf(errs, "%q is left out: it is a device, a pipe or a socket\n", name)
	})
	if err == nil {
		err = buffered.Flush()
	}
	return ended(err, errs)
}

// unpack extracts an archive; its args are PATH NAME, as for archive.Extract. It returns the
// exit code.
func unpack(args []string, in io.Reader, errs io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(errs, "usage: aibox-init unpack PATH NAME")
		return 2
	}
	in, stop := untilSignal(in)
	defer stop()
	result, err := archive.Extract(in, args[0], args[1], archive.Options{AnyLinks: true, Git: true, AnyDepth: true})
	if result.Refused.Count > 0 {
		fmt.Fprintf(errs, "%d entries are left out, since they are no files, folders or symlinks: %q\n", result.Refused.Count, strings.Join(result.Refused.Names, ", "))
	}
	return ended(err, errs)
}

var errSignal = errors.New("the copy was ended by a signal")

// untilSignal returns a reader of in that fails once a signal ends this process. So the
// extraction can remove the file that it is writing: the sender of an archive may be gone
// without an end of its stream.
func untilSignal(in io.Reader) (_ io.Reader, stop func()) {
	buffered := pipe.NewBuffered()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGHUP, unix.SIGTERM)
	go func() {
		if _, more := <-signals; more {
			buffered.CloseWrite(errSignal)
		}
	}()
	go func() {
		_, err := buffered.ReadFrom(in)
		buffered.CloseWrite(err)
	}()
	return buffered, func() {
		signal.Stop(signals)
		close(signals)
		buffered.CloseRead(nil)
	}
}

// ended reports an error and returns the exit code.
func ended(err error, errs io.Writer) int {
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}
