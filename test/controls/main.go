// Program controls checks that each security control has a test that fails without it. For
// every entry of its table it builds the tests with the control switched off, and reports
// those whose loss no test notices.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	only := flag.String("only", "", "check only the controls whose names or files match this regular `expression`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var checked, bad int
	for _, c := range table() {
		if !wanted.MatchString(c.name) && !wanted.MatchString(c.file) {
			continue
		}
		result, err := c.check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		checked++
		if result != noticed {
			bad++
		}
		fmt.Printf("%-12s %s: %s\n", result, c.file, c.name)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d controls have no test that fails without them", bad, checked)
	}
	fmt.Printf("each of %d controls has a test that fails without it\n", checked)
	return nil
}
