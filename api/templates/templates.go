// Package templates serves the service Templates of the schema: those of aibox, and the
// caller's own. A tenant's template does not exist for any other tenant. The package builds
// nothing itself.
package templates

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
)

// Image is a built image.
type Image struct {
	ID   string
	Size int64 // bytes
}

// Handler serves the service.
type Handler struct {
	// Set returns the templates that a tenant can use.
	Set func(tenant session.Tenant) template.Set
	// Store returns the store of a tenant's own templates.
	Store func(tenant session.Tenant) (template.Store, error)
	// Images returns the images that are built, by their recipes' names.
	Images func(ctx context.Context) (map[string]Image, error)
	// Build builds the image of a template of the machine's user, which need not be stored.
	// log receives the lines of its output, from one goroutine; they are escaped.
	Build func(ctx context.Context, t template.Template, log func(line string)) error
	// CheckDefaults refuses settings that contradict each other.
	CheckDefaults func(defaults config.RunOverrides) error
	// Alive is the time between keep-alive events; 0 means 15 seconds.
	Alive time.Duration
}

// tenantOf returns the caller's tenant. A call without one is refused.
func tenantOf(ctx context.Context) (session.Tenant, error) {
	return session.ParseTenant(string(auth.From(ctx).Tenant))
}

// List lists the templates.
func (h *Handler) List(ctx context.Context, _ *connect.Request[aiboxv1.ListTemplatesRequest]) (*connect.Response[aiboxv1.ListTemplatesResponse], error) {
	tenant, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	images := h.images(ctx)
	out := &aiboxv1.ListTemplatesResponse{}
	for _, t := range h.Set(tenant).List() {
		out.Templates = append(out.Templates, toTemplate(&t, images))
	}
	slices.SortFunc(out.Templates, func(a, b *aiboxv1.Template) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return connect.NewResponse(out), nil
}

// Get returns a template.
func (h *Handler) Get(ctx context.Context, r *connect.Request[aiboxv1.GetTemplateRequest]) (*connect.Response[aiboxv1.Template], error) {
	tenant, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	t, err := h.Set(tenant).Find(r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toTemplate(&t, h.images(ctx))), nil
}

// images returns the images that are built; none if the container daemon does not answer.
func (h *Handler) images(ctx context.Context) map[string]Image {
	images, err := h.Images(ctx)
	if err != nil {
		return nil
	}
	return images
}

// Create creates or replaces a template of the tenant.
func (h *Handler) Create(ctx context.Context, r *connect.Request[aiboxv1.CreateTemplateRequest], stream *connect.ServerStream[aiboxv1.CreateTemplateEvent]) error {
	tenant, err := tenantOf(ctx)
	if err != nil {
		return err
	}
	caller := auth.From(ctx)
	if r.Msg.GetDefaults().GetNetwork() != nil { // its sandboxes could reach more than the caller can permit
		if err := caller.Check(aiboxv1.Right_RIGHT_NETWORK); err != nil {
			return err
		}
	}
	definition, err := fromCreate(tenant, r.Msg)
	if err != nil {
		return err
	}
	set := h.Set(tenant)
	t, err := template.Check(set, r.Msg.GetName(), definition)
	if err != nil {
		return err
	}
	if err := h.CheckDefaults(t.Defaults); err != nil {
		return err
	}
	if definition.Dockerfile != "" { // store it only if it can be built
		if err := h.build(ctx, t, stream.Send); err != nil {
			return err
		}
	}
	store, err := h.Store(tenant)
	if err != nil {
		return err
	}
	if t, err = store.Put(ctx, set, r.Msg.GetName(), definition); err != nil {
		return err
	}
	return stream.Send(&aiboxv1.CreateTemplateEvent{Event: &aiboxv1.CreateTemplateEvent_Template{Template: toTemplate(&t, h.images(ctx))}})
}

// Delete deletes a template of the tenant.
func (h *Handler) Delete(ctx context.Context, r *connect.Request[aiboxv1.DeleteTemplateRequest]) (*connect.Response[emptypb.Empty], error) {
	tenant, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	store, err := h.Store(tenant)
	if err != nil {
		return nil, err
	}
	if err := store.Remove(h.Set(tenant), r.Msg.GetName()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// fromCreate returns the definition that a request describes.
func fromCreate(tenant session.Tenant, m *aiboxv1.CreateTemplateRequest) (*template.Definition, error) {
	if len(m.GetAptPackages())+len(m.GetPipPackages())+len(m.GetNpmPackages()) > 0 {
		return nil, fault.New(fault.Usage, "lists of packages are not supported").Hint("install the packages by RUN in dockerfile")
	}
	if m.GetDockerfile() != "" && tenant != session.LocalTenant {
		return nil, fault.New(fault.Refused, "only the machine's user can build images, because a build does not run in a sandbox").
			Hint("leave out dockerfile, or install what is needed in each sandbox")
	}
	below := cmp.Or(m.GetBase(), template.Default)
	base, ok := template.BuiltinNamed(below)
	if !ok {
		return nil, fault.New(fault.Usage, "a template is based on one of aibox's own, such as %s, not on %q", template.Default, below)
	}
	d := &template.Definition{
		Summary: m.GetDescription(), From: below, User: base.User, Workdir: base.Workdir, Env: map[string]string{},
	}
	if text := m.GetDockerfile(); text != "" {
		d.Dockerfile = "ARG BASE\nFROM ${BASE}\n" + strings.TrimRight(text, "\n") + "\n"
	}
	for _, pair := range base.Env {
		name, value, _ := strings.Cut(pair, "=")
		d.Env[name] = value
	}
	if base.Start != nil {
		d.Start = &template.StartDefinition{Command: base.Start.Argv, Port: int64(base.Start.Port), Timeout: base.Start.Timeout.String()}
	}
	return d, fromDefaults(m.GetDefaults(), d)
}

// createTime returns when a template's file was written.
func createTime(t *template.Template) (info os.FileInfo) {
	if t.File == "" {
		return nil
	}
	info, err := os.Stat(t.File)
	if err != nil {
		return nil
	}
	return info
}

// toTemplate returns a template of the schema.
func toTemplate(t *template.Template, images map[string]Image) *aiboxv1.Template {
	out := &aiboxv1.Template{
		Name: t.Name, Description: termtext.Escape(t.Summary), Builtin: t.Source != template.Own, Defaults: toDefaults(t),
	}
	if image, ok := images[t.Image.Recipe]; ok && t.Image.Recipe != "" {
		out.Built, out.Image, out.SizeBytes = true, image.ID, image.Size
	}
	if info := createTime(t); info != nil {
		out.CreateTime = timestamppb.New(info.ModTime())
	}
	return out
}
