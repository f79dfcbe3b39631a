// Command worker is an agent for an image that holds nothing else: it does some
// work and, with "forever", does not end. With "stop-init" it stops PID 1 of its sandbox
// and does not end.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func main() {
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
