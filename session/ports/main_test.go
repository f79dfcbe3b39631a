package ports

import (
	"testing"

	"aibox/internal/peer/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }
