// Package compose provides what a user composes a run from on a screen: repositories,
// agents, images, models and prompts, with their settings and remembered choices. It checks
// and starts the composed request as `aibox run` does. It prints nothing and asks nothing.
package compose
