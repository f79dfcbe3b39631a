package ports

// Update is news about an open port, for the client that has opened it. Each has one value;
// the one with Address is the first, the one with Counts the last.
type Update struct {
	Address string  `json:"address,omitempty"` // where the host offers the port
	Notice  string  `json:"notice,omitempty"`  // a message of aibox for the user, escaped
	Counts  *Counts `json:"counts,omitempty"`  // what passed until the end
}
