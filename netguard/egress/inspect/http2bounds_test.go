package inspect

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"aibox/netguard/egress"
)

// rawClient is the sandbox's end of a tunnel of HTTP/2.
type rawClient struct {
	*http2.Framer

	stream uint32 // of the last request
}

// http2Tunnel opens a tunnel to api. The proxy may send window bytes of each response.
func (w *world) http2Tunnel(window uint32) *rawClient {
	w.t.Helper()
	conn := w.tls(api, http2.NextProtoTLS)
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	return &rawClient{Framer: framer}
}

// request sends a request.
func (c *rawClient) request() {
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "api.example.org"}, {":path", "/"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	c.stream += 2
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream - 1, BlockFragment: fields.Bytes(), EndHeaders: true, EndStream: true})
}

// windows reads the bytes that the other end of a connection may send before any of them is
// read: for one stream and for all. They follow the preface.
func windows(framer *http2.Framer) (stream, connection uint32, err error) {
	stream, connection = 65535, 65535
	for settings := false; !settings; {
		frame, err := framer.ReadFrame()
		if err != nil {
			return 0, 0, err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if value, ok := frame.Value(http2.SettingInitialWindowSize); ok {
				stream = value
			}
		case *http2.WindowUpdateFrame:
			connection += frame.Increment
		case *http2.HeadersFrame, *http2.MetaHeadersFrame, *http2.PingFrame:
			settings = true
		}
	}
	return stream, connection, nil
}

func TestWhatIsNotReadFromHTTP2TakesLittleMemory(t *testing.T) {
	type window struct{ stream, connection uint32 }
	seen := make(chan window, 1)
	w := newWorld(t, setup{allow: []string{"api.example.org"}, inspect: []string{"api.example.org"}, servers: map[string]*httptest.Server{
		api: rawHTTP2(t, func(framer *http2.Framer) {
			stream, connection, _ := windows(framer)
			seen <- window{stream, connection}
		}),
	}})
	client := w.http2Tunnel(0)
	client.request()
	if server := <-seen; server.stream > 512<<10 || server.connection > 65<<20 {
		t.Errorf("a server may send %d bytes of a response and %d of all", server.stream, server.connection)
	} else if 128*server.stream > server.connection {
		t.Errorf("responses of %d bytes that nobody reads stop the others of a connection of %d bytes", server.stream, server.connection)
	}
	_ = client.WritePing(false, [8]byte{})
	if stream, connection, err := windows(client.Framer); err != nil || stream > 64<<10 || connection > 8<<20 {
		t.Errorf("the sandbox may send %d bytes of a request and %d of all, %v", stream, connection, err)
	} else if 100*stream > connection {
		t.Errorf("requests of %d bytes that wait stop the others of a connection of %d bytes", stream, connection)
	}
}

// A client that reads no response keeps its requests, with their fields, in the proxy's memory.
func TestRequestsOfHTTP2AreBoundedForTheSession(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{"api.example.org"}, inspect: []string{"api.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, false, "api.example.org")},
	})
	var answered, reset int
	var clients []*rawClient
	for range 3 {
		clients = append(clients, w.http2Tunnel(0))
	}
	for _, client := range clients {
		for range 100 {
			client.request()
		}
		for known := map[uint32]bool{}; len(known) < 100; {
			frame, err := client.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			switch frame.(type) {
			case *http2.MetaHeadersFrame:
				answered++
				known[frame.Header().StreamID] = true
			case *http2.RSTStreamFrame:
				reset++
				known[frame.Header().StreamID] = true
			}
		}
	}
	if answered != 256 || reset != 44 {
		t.Errorf("%d requests are in progress, %d were reset", answered, reset)
	}
	w.mu.Lock()
	recorded := slices.ContainsFunc(w.events, func(e egress.Event) bool { return e.Code == "requests" && e.Host == "api.example.org" })
	w.mu.Unlock()
	if !recorded {
		t.Error("no refusal is recorded")
	}
	// The client reads, and there is place again.
	_ = clients[0].WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 10})
	for ended := 0; ended < 100; {
		frame, err := clients[0].ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := frame.(*http2.DataFrame); ok && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			ended++
		}
	}
	response, err := w.client(true).Get("https://api.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	if text := dump(t, response); response.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", text)
	}
	_ = response.Body.Close()
}
