package session

// ModelUsage is a session's usage of one model.
type ModelUsage struct {
	Model  string `json:"model"` // raw
	Tokens Tokens `json:"tokens"`
}
