// Package server serves the API: gRPC, gRPC-Web, Connect and REST on one port.
package server

import (
	_ "connectrpc.com/connect"
	_ "connectrpc.com/grpchealth"
	_ "connectrpc.com/grpcreflect"
	_ "connectrpc.com/vanguard"
	_ "github.com/coder/websocket"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
)
