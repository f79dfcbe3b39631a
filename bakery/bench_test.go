package bakery_test

import (
	"testing"

	"aibox/bakery"
)

// Every run reads the host's settings before it can look up its image.
func BenchmarkReadHost(b *testing.B) {
	for b.Loop() {
		bakery.ReadHost()
	}
}
