// The tests run command prober inside a sandbox, and beside one: "probe TARGET…" tries all
// targets ("tcp 1.2.3.4:80") at the same time and prints JSON; "plan" runs the probes of a
// plan, JSON on its standard input, and prints their results; "serve ADDRESS" prints its
// port and answers until its standard input ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	probes "aibox/internal/probe"
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
	if len(os.Args) == 2 && os.Args[1] == "plan" {
		runPlan()
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

// runPlan probes as PID 1 of a session's sandbox does.
func runPlan() {
	var plan probes.Plan
	if err := json.NewDecoder(os.Stdin).Decode(&plan); err != nil {
		panic(err)
	}
	results := make([]probes.Result, len(plan.Probes))
	probes.Run(context.Background(), plan, func(place int, r probes.Result) { results[place] = r })
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
	patience := 3 * time.Second
	if text := os.Getenv("PATIENCE"); text != "" {
		patience, _ = time.ParseDuration(text)
	}
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	hello := []byte("hello\n")
	if network == "ip4:icmp" {
		hello = []byte{8, 0, 0xf7, 0xfd, 0, 1, 0, 1} // an echo request with its checksum
	}
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err == nil && n == 0 {
		err = errors.New("empty")
	}
	if err == nil && network == "ip4:icmp" {
		if header := int(answer[0]&0xf) * 4; answer[0]>>4 == 4 && header < n {
			answer = answer[header:]
		}
		if answer[0] != 0 {
			err = fmt.Errorf("an ICMP error of type %d", answer[0])
		}
	}
	return err
}

func serve(address string) {
	listener, err := net.Listen("tcp", address)
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
