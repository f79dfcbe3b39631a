package ports

// Update reports about an open port to the client that has opened it. Each update has one
// value; the first has Address, the last has Counts.
type Update struct {
	Address string  `json:"address,omitempty"` // address on the host
	Notice  string  `json:"notice,omitempty"`  // a message of aibox for the user, escaped
	Counts  *Counts `json:"counts,omitempty"`  // the counts when it was closed
}
