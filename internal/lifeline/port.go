package lifeline

// Frames about the ports and files of the sandbox.
const (
	TypeDial       Type = 0x20 // Dial, from the supervisor
	TypeListPorts  Type = 0x21 // no payload, from the supervisor; init answers with TypePorts
	TypeOpenFiles  Type = 0x22 // OpenFiles, from the supervisor
	TypeDialFailed Type = 0x60 // DialFailed, from init
	TypePorts      Type = 0x61 // Ports, from init
)

// TokenSize is the length of a token in bytes.
const TokenSize = 32

// Dial asks init to connect to a TCP port in the sandbox, and to relay that connection over a
// new one to the address of the lifeline. The new connection begins with the token, by which
// the supervisor recognizes it. If init cannot connect, it answers with DialFailed.
//
// Each such connection has its own TCP flow control. If the bytes were frames of the
// lifeline, a slow reader would delay the agent's output and a stop.
type Dial struct {
	ID    int    `json:"id"` // chosen by the supervisor, for the answer
	Port  uint16 `json:"port"`
	Token []byte `json:"token"` // TokenSize random bytes, valid once
}

// OpenFiles asks init for a new connection to the address of the lifeline, which begins with
// the token, as Dial does. At its other end a program in the sandbox, which runs as User,
// speaks the protocol of package files. If init cannot connect, it answers with DialFailed.
type OpenFiles struct {
	ID    int    `json:"id"`             // chosen by the supervisor, for the answer
	User  string `json:"user,omitempty"` // USER or USER:GROUP, each a name or a number; empty is root
	Token []byte `json:"token"`          // TokenSize random bytes, valid once
}

// DialFailed reports that init could not connect.
type DialFailed struct {
	ID      int    `json:"id"`
	Refused bool   `json:"refused,omitempty"` // nothing listens on the port; there is no such user
	Error   string `json:"error"`             // may hold bytes of the sandbox: escape
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
	Address string `json:"address"` // the IP address; 0.0.0.0 and :: mean all addresses
	Port    uint16 `json:"port"`
}

// isPortMessage reports whether frames of type t are messages about ports or files.
func (t Type) isPortMessage() bool {
	switch t {
	case TypeDial, TypeListPorts, TypeOpenFiles, TypeDialFailed, TypePorts:
		return true
	}
	return false
}
