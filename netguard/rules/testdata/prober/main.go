// Command prober is what the tests run inside a sandbox, and beside one: "probe
// TARGET…" tries all targets ("tcp 1.2.3.4:80") at the same time and prints JSON;
// "serve ADDRESS" prints its port and answers until its standard input ends.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

type probed struct {
	Target string
	Open   bool // there was an answer
	Millis int64
	Err    string
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		serve(os.Args[2])
		return
	}
	results := make([]probed, len(os.Args)-2)
	var wait sync.WaitGroup
	for i, target := range os.Args[2:] {
		wait.Go(func() { results[i] = probe(target) })
	}
	wait.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(results)
}

func probe(target string) probed {
	start := time.Now()
	err := ask(target)
	result := probed{Target: target, Open: err == nil, Millis: time.Since(start).Milliseconds()}
	if err != nil {
		result.Err = err.Error()
	}
	return result
}

func ask(target string) error {
	network, address, _ := strings.Cut(target, " ")
	conn, err := net.DialTimeout(network, address, 3*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := conn.Write([]byte("hello\n")); err != nil {
		return err
	}
	n, err := conn.Read(make([]byte, 64))
	if err == nil && n == 0 {
		err = errors.New("empty")
	}
	return err
}

func serve(address string) {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.CopyN(conn, conn, 6) }()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	fmt.Println(port)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
