package page

// Ended is a message about the end of an action that continues after its page is closed. Then the root
// shows it.
type Ended interface {
	Ended() (text string, err error) // text is escaped
}
