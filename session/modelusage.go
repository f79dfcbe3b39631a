package session

// ModelUsage is what a session used of one model.
type ModelUsage struct {
	Model  string `json:"model"` // raw
	Tokens Tokens `json:"tokens"`
}
