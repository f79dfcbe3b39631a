package cli

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestARefreshedTableEndsWithALineOfItsOwnForThePrompt(t *testing.T) {
	a, out, _ := testApp(t)
	service, err := a.app.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	o := topOptions{cli: a, interval: time.Second}
	if err := o.refresh(ctx, service, nil); err != nil || !strings.HasSuffix(out.String(), "\x1b[?25h\n") {
		t.Errorf("printed %q, %v", out.String(), err)
	}
}
