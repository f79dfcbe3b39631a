package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aibox/internal/secret"
	"aibox/netguard/gateway"
	"aibox/netguard/gateway/modelserver"
)

// fetch asks the model server in the environment for one long answer and prints
// its bytes and the seconds it took.
const fetch = `
import http.client, os, time, urllib.parse
u = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
c = http.client.HTTPConnection(u.hostname, u.port)
c.request("POST", u.path + "/chat/completions", b'{"model":"m"}',
          {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
r, block, size, begin = c.getresponse(), bytearray(1 << 20), 0, time.monotonic()
while n := r.readinto(block):
    size += n
print("fetched", size, time.monotonic() - begin)
`

// throughput compares the way of a long answer through the gateway with its way
// through slirp4netns, which is how a plain rootless container reaches the host.
func throughput(ctx context.Context, b *bench) ([]Row, error) {
	size := int64(1 << 30)
	if b.quick {
		size = 64 << 20
	}
	host, err := hostAddress()
	if err != nil {
		return nil, err
	}
	loopback, stopLoopback, err := serveLong("127.0.0.1", size)
	if err != nil {
		return nil, err
	}
	defer stopLoopback()
	outside, stopOutside, err := serveLong(host, size)
	if err != nil {
		return nil, err
	}
	defer stopOutside()
	var ours, theirs []float64
	for range b.pairs {
		out, err := b.quiet(ctx, b.aibox, "run", "shell", "--inference", loopback, "--model", "m", "--", "python3", "-c", fetch)
		if err = errors.Join(err, b.removeSessions(ctx)); err != nil {
			return nil, err
		}
		if ours, err = appendSpeed(ours, out, size); err != nil {
			return nil, err
		}
		out, err = b.quiet(ctx, "docker", "run", "--rm", "--runtime=runsc", "-e", "OPENAI_BASE_URL="+outside, "-e", "OPENAI_API_KEY=x", b.image, "python3", "-c", fetch)
		if err != nil {
			return nil, err
		}
		if theirs, err = appendSpeed(theirs, out, size); err != nil {
			return nil, err
		}
	}
	what := fmt.Sprintf("gateway, %d MB into the sandbox", size>>20)
	return []Row{versus(what, "slirp4netns to an address of the host, same kind of sandbox", "MB/s", ours, theirs, target{least: 10})}, nil
}

func appendSpeed(to []float64, out string, size int64) ([]float64, error) {
	var got int64
	var seconds float64
	at := strings.Index(out, "fetched ")
	if at < 0 {
		return nil, fmt.Errorf("the sandbox fetched nothing: %q", lastLines(out))
	}
	if _, err := fmt.Sscanf(out[at:], "fetched %d %g", &got, &seconds); err != nil || got != size {
		return nil, fmt.Errorf("the sandbox fetched %d of %d bytes: %w", got, size, err)
	}
	return append(to, float64(size)/1e6/seconds), nil
}

// hostAddress is an address of this machine that slirp4netns leads to.
func hostAddress() (string, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String(), nil
		}
	}
	return "", errors.New("this machine has no address but loopback")
}

// serveLong starts a model server with a longAnswer.
func serveLong(host string, size int64) (base string, stop func(), err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: longAnswer(size), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

// longAnswer is a model server whose answer has size bytes: one long text.
func longAnswer(size int64) http.Handler {
	begin, end := `{"choices":[{"message":{"role":"assistant","content":"`, `"}}]}`
	block := bytes.Repeat([]byte("word "), 1<<20/5)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = io.WriteString(w, begin)
		for left := size - int64(len(begin)+len(end)); left > 0; left -= int64(len(block)) {
			if _, err := w.Write(block[:min(left, int64(len(block)))]); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, end)
	})
	return mux
}

// latency streams the same pieces straight over loopback and through the gateway
// and compares how long each is on its way.
func latency(ctx context.Context, b *bench) ([]Row, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	upstream := &http.Server{Handler: http.HandlerFunc(streamPieces), ReadHeaderTimeout: time.Minute}
	go func() { _ = upstream.Serve(listener) }()
	defer upstream.Close()
	direct := "http://" + listener.Addr().String()

	proxy, err := newGateway(direct + "/v1")
	if err != nil {
		return nil, err
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = proxy.Serve(front) }()
	defer proxy.Close()

	var through, straight []float64
	for range b.pairs {
		for base, into := range map[string]*[]float64{direct: &straight, "http://" + front.Addr().String(): &through} {
			if err := readPieces(ctx, base, into); err != nil {
				return nil, err
			}
		}
	}
	row := alone("gateway, added to a streamed chunk, p99", "ms", quantile(through, 0.99)-quantile(straight, 0.99), target{most: 1, absolute: true})
	row.Note = fmt.Sprintf("p50 %s ms, direct loopback p99 %s ms", number(median(through)-median(straight)), number(quantile(straight, 0.99)))
	return []Row{row}, nil
}

// newGateway returns a gateway for the model server at base, which has the model m.
func newGateway(base string) (*http.Server, error) {
	upstream, err := modelserver.Parse(base, func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	handler, err := gateway.New(gateway.Config{Upstream: upstream, Placeholder: secret.New(serverKey), Models: func() []string { return []string{"m"} }})
	if err != nil {
		return nil, err
	}
	return gateway.NewServer(handler), nil
}

const pieces = 200

// streamPieces streams like a fast model. Each piece contains the time when it was sent.
func streamPieces(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range pieces {
		fmt.Fprintf(w, "data: {\"sent\":%d,\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n", time.Now().UnixNano())
		_ = http.NewResponseController(w).Flush()
		<-tick.C
	}
}

func readPieces(ctx context.Context, base string, into *[]float64) error {
	target, err := url.JoinPath(base, "v1/chat/completions")
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(`{"model":"m","stream":true}`))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+serverKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	count := 0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var sent int64
		if _, err := fmt.Sscanf(lines.Text(), `data: {"sent":%d`, &sent); err == nil {
			*into = append(*into, float64(time.Now().UnixNano()-sent)/1e6)
			count++
		}
	}
	if count != pieces {
		return fmt.Errorf("%d of %d pieces came (status %d)", count, pieces, response.StatusCode)
	}
	return nil
}
