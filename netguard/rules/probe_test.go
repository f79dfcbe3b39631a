package rules

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// probed is what the prober in a box found out about one target.
type probed struct {
	Target string
	Open   bool // somebody answered
	Millis int64
	Err    string
}

// probeMain tries each target ("tcp 1.2.3.4:80", "udp 1.2.3.4:53") from inside a box, all
// at the same time, and prints JSON.
func probeMain(targets []string) {
	results := make([]probed, len(targets))
	var wait sync.WaitGroup
	for i, target := range targets {
		wait.Go(func() { results[i] = probe(target) })
	}
	wait.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(results)
}

func probe(target string) probed {
	start := time.Now()
	network, address, _ := strings.Cut(target, " ")
	err := func() error {
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
	}()
	result := probed{Target: target, Open: err == nil, Millis: time.Since(start).Milliseconds()}
	if err != nil {
		result.Err = err.Error()
	}
	return result
}
