// Command worker is an agent for an image that holds nothing else: it does some
// work and, with "forever", does not end. With "stop-init" it stops PID 1 of its sandbox
// and does not end. With "lines" it writes lines, syncs each one before it prints its number,
// and ends after 30; it kills or stops PID 1 when a file kill-init or stop-init appears.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func writeLines() error {
	file, err := os.Create("work.txt")
	if err != nil {
		return err
	}
	for n := 1; n <= 30; n++ {
		if _, err := fmt.Fprintf(file, "line %d\n", n); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		fmt.Println(n)
		time.Sleep(20 * time.Millisecond)
		for name, signal := range map[string]syscall.Signal{"kill-init": syscall.SIGKILL, "stop-init": syscall.SIGSTOP} {
			if _, err := os.Stat(name); err == nil {
				_ = syscall.Kill(1, signal)
			}
		}
	}
	return file.Close()
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "lines" {
		if err := writeLines(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if err := os.WriteFile("work.txt", []byte("work\n"), 0o600); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	if mode == "stop-init" {
		if err := syscall.Kill(1, syscall.SIGSTOP); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if err := os.WriteFile("stopped", nil, 0o600); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	for mode != "" {
		time.Sleep(time.Second)
	}
}
