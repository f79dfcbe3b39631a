// Package receivebuffer bounds the memory that HTTP/2 takes for data that its reader does not
// read. It opens no connection.
package receivebuffer

import "net/http"

// Response bounds the unread bytes of one response. The library's own bound is 4 MiB. With one
// of this size, a server that answers in 100 ms sends 5 MiB each second.
const Response = 512 << 10

// Config returns the bounds of a connection with up to most requests or responses at a time, of
// which up to each bytes are unread. There is room for all of them, so that those that nobody
// reads never stop the others.
func Config(each, most int) *http.HTTP2Config {
	return &http.HTTP2Config{MaxReceiveBufferPerStream: each, MaxReceiveBufferPerConnection: most * each}
}
