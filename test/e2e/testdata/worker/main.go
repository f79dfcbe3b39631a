// Command worker is an agent for an image that holds nothing else: it does some
// work and, with "forever", does not end.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	if err := os.WriteFile("work.txt", []byte("work\n"), 0o600); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for len(os.Args) > 1 && os.Args[1] == "forever" {
		time.Sleep(time.Second)
	}
}
