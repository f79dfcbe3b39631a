// Package wake notifies a goroutine that waits on a channel, without waiting for it.
package wake

// Waiter sends on c, a channel of length one, unless a notification is already in it.
func Waiter(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
