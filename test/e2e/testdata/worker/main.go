// Command worker is an agent for an image that holds nothing else: it does some
// work and, with "forever", does not end. With "stop-init" it stops PID 1 of its sandbox
// and does not end. With "lines" it writes lines, syncs each one before it prints its number,
// and ends after 30; it kills or stops PID 1 when a file kill-init or stop-init appears. With
// "fill" it writes up to a gigabyte to the root, prints why that ended, waits for a file go,
// and checks that it can write again once it has removed what it wrote. As "sh" it is a shell
// whose every command takes 0.2 seconds and succeeds.
package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// fill fills the root and makes room again.
func fill() error {
	const name = "/filled"
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	for range 1 << 10 {
		if _, err = file.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	fmt.Println("filled:", err)
	for {
		if _, err := os.Stat("go"); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	fmt.Println("room again")
	return nil
}

func main() {
	if filepath.Base(os.Args[0]) == "sh" {
		time.Sleep(200 * time.Millisecond)
		return
	}
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
	if mode == "fill" {
		if err := fill(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
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
