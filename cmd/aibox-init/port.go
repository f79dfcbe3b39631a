package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/relay"
)

const (
	// maxDials is more than a supervisor uses at a time.
	maxDials    = 512
	dialTimeout = 5 * time.Second
)

// ports connects the supervisor to ports of the sandbox.
type ports struct {
	supervisor string // the lifeline's address
	dials      chan struct{}
}

func newPorts(supervisor string) *ports {
	return &ports{supervisor: supervisor, dials: make(chan struct{}, maxDials)}
}

// dial connects to a port, joins it to the supervisor, and returns when that connection has
// ended. If it cannot connect, it passes the reason to failed.
func (p *ports) dial(d lifeline.Dial, failed func(lifeline.DialFailed)) {
	select {
	case p.dials <- struct{}{}:
		defer func() { <-p.dials }()
	default:
		failed(lifeline.DialFailed{ID: d.ID, Error: "too many connections"})
		return
	}
	inside, err := dialInside(d.Port)
	if err != nil {
		failed(lifeline.DialFailed{ID: d.ID, Refused: errors.Is(err, unix.ECONNREFUSED), Error: err.Error()})
		return
	}
	outside, err := p.callBack(d.Token)
	if err != nil {
		inside.Close()
		failed(lifeline.DialFailed{ID: d.ID, Error: fmt.Sprintf("connecting to the supervisor: %v", err)})
		return
	}
	relay.Join(inside, outside)
}

// callBack connects to the supervisor with a token.
func (p *ports) callBack(token []byte) (relay.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(context.Background(), "tcp", p.supervisor)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(token); err != nil {
		conn.Close()
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// dialInside connects to a port of the sandbox: on loopback, where dev servers usually
// listen, else on its own addresses.
func dialInside(port uint16) (relay.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	var first error
	for _, address := range ownAddresses() {
		conn, err := dialer.DialContext(context.Background(), "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
		if err == nil {
			return conn.(*net.TCPConn), nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// ownAddresses returns the addresses of the sandbox, loopback first.
func ownAddresses() []string {
	addresses := []string{"127.0.0.1", "::1"}
	found, _ := net.InterfaceAddrs()
	for _, address := range found {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			addresses = append(addresses, network.IP.String())
		}
	}
	return addresses
}
