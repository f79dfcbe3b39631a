package control

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"aibox/internal/fault"
	"aibox/session/ports"
)

// maxPortList is the maximum size of a list of ports as JSON.
const maxPortList = 1 << 20

// Ports lists the TCP ports on which programs in the sandbox listen.
func (c Client) Ports(ctx context.Context) ([]ports.Listening, error) {
	response, err := c.call(ctx, http.MethodGet, "/v1/ports", nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var found []ports.Listening
	return found, json.NewDecoder(io.LimitReader(response.Body, maxPortList)).Decode(&found)
}

// OpenPort opens a port of the sandbox on the host's loopback and visits its updates, until
// the session or ctx ends. The port is then closed. If the supervisor dies, it returns
// ErrNoSupervisor.
func (c Client) OpenPort(ctx context.Context, r ports.Request, visit func(ports.Update) error) error {
	query := url.Values{"port": {strconv.Itoa(int(r.Port))}, "local": {strconv.Itoa(r.Local)}}
	if r.Address.IsValid() {
		query.Set("address", r.Address.String())
	}
	return readLines(ctx, c, http.MethodPost, "/v1/open", query, visit)
}

// servePorts lists the ports on which programs in the sandbox listen.
func servePorts(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, err := c.Ports(r.Context())
		if err != nil {
			writeResult(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found)
	}
}

// serveOpen opens a port until the client disconnects, and streams its updates.
func serveOpen(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request, err := portRequest(r)
		if err != nil {
			writeResult(w, err)
			return
		}
		opened, err := c.OpenPort(r.Context(), request)
		if err != nil {
			writeResult(w, err)
			return
		}
		writeLines(w, opened)
	}
}

func portRequest(r *http.Request) (ports.Request, error) {
	port, err := strconv.ParseUint(r.FormValue("port"), 10, 16)
	if err != nil {
		return ports.Request{}, fault.New(fault.Usage, "port must be a number from 1 to 65535")
	}
	local, err := strconv.Atoi(r.FormValue("local"))
	if err != nil {
		return ports.Request{}, fault.New(fault.Usage, "local must be a number")
	}
	request := ports.Request{Port: uint16(port), Local: local}
	if address := r.FormValue("address"); address != "" {
		if request.Address, err = netip.ParseAddr(address); err != nil {
			return ports.Request{}, fault.New(fault.Usage, "address must be an IP address")
		}
	}
	return request, request.Check()
}
