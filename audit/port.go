package audit

// Port is the data of PortOpened: a port of the sandbox that the user has opened on the
// host's loopback, or that the API forwards connections to.
type Port struct {
	Port    int    `json:"port"`              // of the sandbox
	Address string `json:"address,omitempty"` // of the host, with its port; empty for the API
}

// PortEnd is the data of PortClosed.
type PortEnd struct {
	Port        int    `json:"port"`
	Address     string `json:"address,omitempty"`
	Connections int    `json:"connections"`
	Refused     int    `json:"refused,omitempty"` // connections that did not reach the port
	BytesUp     int64  `json:"bytes_up"`          // from the sandbox
	BytesDown   int64  `json:"bytes_down"`        // to the sandbox
}
