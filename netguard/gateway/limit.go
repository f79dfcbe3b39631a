package gateway

// Limit is a limit of the whole session that a request has reached. The zero value is none.
type Limit uint8

// The limits.
const (
	_           Limit = iota
	UploadLimit       // Config.UploadLimit: bytes of all requests
	TokenLimit        // Config.TokenLimit: tokens in and out of all requests
	CostLimit         // Config.CostLimit: the cost of all answers
)

// String returns the limit's name; empty for none.
func (l Limit) String() string {
	switch l {
	case UploadLimit:
		return "upload"
	case TokenLimit:
		return "tokens"
	case CostLimit:
		return "cost"
	default:
		return ""
	}
}

// MarshalText writes the name.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }
