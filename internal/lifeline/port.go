package lifeline

// Frames about the ports of the sandbox.
const (
	TypeDial       Type = 0x20 // Dial, from the supervisor
	TypeListPorts  Type = 0x21 // no payload, from the supervisor; init answers with TypePorts
	TypeDialFailed Type = 0x60 // DialFailed, from init
	TypePorts      Type = 0x61 // Ports, from init
)

// TokenSize is the length of a token in bytes.
const TokenSize = 32

// Dial asks init to connect to a TCP port in the sandbox, and to join that connection to a
// new one that it makes to the address of the lifeline. The new connection begins with the
// token, so that the supervisor knows it. If init cannot connect, it answers with DialFailed.
//
// Each such connection has its own TCP flow control. If the bytes were frames of the
// lifeline, a slow reader would delay the agent's output and a stop.
type Dial struct {
	ID    int    `json:"id"` // chosen by the supervisor, for the answer
	Port  uint16 `json:"port"`
	Token []byte `json:"token"` // TokenSize random bytes, valid once
}

// DialFailed reports that init could not connect.
type DialFailed struct {
	ID      int    `json:"id"`
	Refused bool   `json:"refused,omitempty"` // nothing listens on the port
	Error   string `json:"error"`             // may hold the sandbox's bytes: escape
}

// Ports lists the TCP ports on which programs in the sandbox listen.
type Ports struct {
	Ports []ListeningPort `json:"ports"` // ordered by port, at most MaxPorts
	Error string          `json:"error,omitempty"`
}

// MaxPorts is the maximum length of a list of ports.
const MaxPorts = 256

// ListeningPort is one listening socket.
type ListeningPort struct {
	Address string `json:"address"` // the IP address; 0.0.0.0 and :: are all addresses
	Port    uint16 `json:"port"`
}

// isPortMessage reports whether frames of type t are messages about ports.
func (t Type) isPortMessage() bool {
	switch t {
	case TypeDial, TypeListPorts, TypeDialFailed, TypePorts:
		return true
	}
	return false
}
