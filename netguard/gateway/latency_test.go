package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAddedLatencyOfAStreamedPiece streams the same pieces directly over loopback and
// through the gateway, in turns, and reports how much later a piece arrives through the
// gateway.
func BenchmarkAddedLatencyOfAStreamedPiece(b *testing.B) {
	const pieces = 200
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(io.Discard, r.Body)
		for range pieces {
			fmt.Fprintf(w, "data: {\"sent\":%d,\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n", time.Now().UnixNano())
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond) // as a fast model streams
		}
	}
	through := newBench(b, stream, nil)
	direct := httptest.NewServer(http.HandlerFunc(stream))
	defer direct.Close()
	measure := func(base string) (took []time.Duration) {
		r, err := http.NewRequest("POST", base+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+placeholder)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			var sent int64
			if _, err := fmt.Sscanf(lines.Text(), `data: {"sent":%d`, &sent); err == nil {
				took = append(took, time.Duration(time.Now().UnixNano()-sent))
			}
		}
		return took
	}
	var with, without []time.Duration
	for b.Loop() {
		without = append(without, measure(direct.URL)...)
		with = append(with, measure(through.url)...)
	}
	slices.Sort(with)
	slices.Sort(without)
	for _, p := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		i := int(p.at * float64(len(with)-1))
		b.ReportMetric(float64((with[i] - without[i]).Microseconds()), p.name+"-added-µs")
		b.ReportMetric(float64(without[i].Microseconds()), p.name+"-direct-µs")
	}
}

// BenchmarkThroughput passes a long answer through the gateway.
func BenchmarkThroughput(b *testing.B) {
	block := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 32<<10) + "\"}}]}\n\n")
	const blocks = 512
	bench := newBench(b, func(w http.ResponseWriter, r *http.Request) {
		for range blocks {
			_, _ = w.Write(block)
		}
	}, nil)
	b.SetBytes(int64(blocks * len(block)))
	for b.Loop() {
		_, _ = io.Copy(io.Discard, bench.send(b, "POST", "/v1/chat/completions", `{"model":"m"}`).Body)
	}
}
