// Uses aibox with the official client of the Model Context Protocol, as its documentation
// describes: over standard input and output, and over streamable HTTP.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { MCP_PROGRAM, MCP_URL, MCP_TOKEN, MCP_READ_TOKEN } = process.env
const http = (token) =>
  new StreamableHTTPClientTransport(new URL(MCP_URL), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })

// connect connects a client. Its schemas check each answer.
const connect = async (transport) => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  const call = async (name, args = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args }, undefined, { timeout: 300_000 })
    const text = content.map((part) => part.text).join('\n')
    return { isError, text, facts: isError ? {} : JSON.parse(content[0].text.split('\n')[0]) }
  }
  const done = async (name, args) => {
    const answer = await call(name, args)
    assert.ok(!answer.isError, `${name}: ${answer.text}`)
    return answer
  }
  return { client, call, done }
}

const use = async (transport) => {
  const { client, call, done } = await connect(transport)
  const { tools } = await client.listTools()
  for (const tool of tools) {
    assert.ok(tool.description && tool.inputSchema.type === 'object' && tool.annotations, tool.name)
  }
  const names = tools.map((tool) => tool.name)
  assert.ok(['create_sandbox', 'run_code', 'read_file', 'run_agent', 'accept_changes'].every((name) => names.includes(name)), `${names}`)

  const { facts } = await done('create_sandbox', { name: 'by the SDK', timeout: '10m' })
  assert.equal(facts.network, 'none')
  const { sandbox } = facts
  await done('write_file', { sandbox, path: '/tmp/in.txt', content: 'six times seven\n' })
  const ran = await done('run_command', { sandbox, command: 'cat /tmp/in.txt; uname -v; exit 3' })
  assert.equal(ran.facts.exit_code, 3)
  assert.match(ran.text, /six times seven/)
  assert.match((await done('run_code', { sandbox, language: 'python', code: 'print(6 * 7)' })).text, /\n42\n/)
  assert.match((await done('read_file', { sandbox, path: '/tmp/in.txt' })).text, /six times seven/)
  assert.match((await done('list_files', { sandbox, path: '/tmp' })).text, /file 16 \/tmp\/in\.txt/)
  assert.ok((await call('read_file', { sandbox, path: '/no/such' })).isError)
  assert.ok((await call('run_command', { sandbox })).isError)
  assert.ok((await call('run_command', { sandbox, command: 'true', dir: 7 })).isError)
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), /unknown tool/)
  if (transport instanceof StreamableHTTPClientTransport) {
    const { facts } = await done('open_port', { sandbox, port: 8000 })
    assert.equal(new URL(facts.url).port, new URL(MCP_URL).port)
  }
  await done('destroy_sandbox', { sandbox })
  assert.ok((await call('run_command', { sandbox, command: 'true' })).isError)
  await transport.terminateSession?.()
  await client.close()
  return names
}

const stdio = await use(new StdioClientTransport({ command: MCP_PROGRAM, args: ['mcp'], env: process.env, stderr: 'inherit' }))
assert.deepEqual(await use(http(MCP_TOKEN)), stdio)

const reader = await connect(http(MCP_READ_TOKEN))
assert.ok(!(await reader.call('list_sandboxes')).isError)
assert.match((await reader.call('create_sandbox')).text, /right/)
await reader.client.close()
await assert.rejects(connect(http('aibox_wrong')))
