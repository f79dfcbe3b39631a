// Probe is the only program in the images of this package's tests.
package main

import (
	"os"
	"time"
)

func main() {
	switch os.Args[1] {
	case "say":
		println(os.Args[2])
	case "write": // a file with its arguments and what was in it before
		old, _ := os.ReadFile(os.Args[2])
		if err := os.WriteFile(os.Args[2], append(old, os.Args[3]...), 0o644); err != nil {
			panic(err)
		}
		println("before: " + string(old))
	case "fail":
		println("first line")
		println("\x1b[31mlast line")
		os.Exit(7)
	case "hang": // with a timer, or the runtime sees a deadlock
		println("ready")
		for {
			time.Sleep(time.Hour)
		}
	}
}
