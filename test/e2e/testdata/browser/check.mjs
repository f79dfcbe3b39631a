// Drives the templates browser and desktop with Playwright through forwarded ports, and
// prints what it has done. The environment names the addresses; see browser_test.go.
import assert from 'node:assert/strict'
import { chromium } from 'playwright-core'

const { SERVER, TOKEN, BROWSER, DESKTOP, OPENED, DESKTOP_URL, PAGE_URL, CHROMIUM } = process.env
const headers = { Authorization: 'Bearer ' + TOKEN }
const { host } = new URL(SERVER)
const done = (what) => console.log(what)

// visit opens the page of the server in the sandbox, as its browser sees it.
const visit = async (browser, screenshot) => {
  const page = await browser.newPage({ viewport: { width: 800, height: 600 } })
  await page.goto('http://127.0.0.1:8000/')
  assert.equal(await page.title(), 'Served in the sandbox')
  await page.click('button')
  assert.equal(await page.textContent('p'), 'clicked')
  if (screenshot) await page.screenshot({ path: screenshot })
  await browser.close()
}

// By host name, by path, and by a port of this machine.
await visit(await chromium.connectOverCDP(`http://9222-${BROWSER}.localhost:${new URL(SERVER).port}`, { headers }), 'page.png')
done('host name')
const address = `${host}/v1/sandboxes/${BROWSER}/ports/9222`
const version = await (await fetch(`http://${address}/json/version`, { headers })).json()
await visit(await chromium.connectOverCDP(`ws://${address}${new URL(version.webSocketDebuggerUrl).pathname}`, { headers }))
done('path')
await visit(await chromium.connectOverCDP(OPENED))
done('open')

// The user's own browser, without a token.
const own = await chromium.connectOverCDP(CHROMIUM)
const context = await own.newContext({ viewport: { width: 1280, height: 800 } })
const desktop = await context.newPage()
await desktop.goto(DESKTOP_URL)
await desktop.waitForSelector('html.noVNC_connected', { state: 'attached' })
assert.ok(desktop.url().startsWith(`http://6080-${DESKTOP}.localhost:`) && !desktop.url().includes('grant'), desktop.url())
const canvas = desktop.locator('#noVNC_container canvas')
await desktop.waitForFunction(() => {
  const canvas = document.querySelector('#noVNC_container canvas')
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  return new Set(new Uint32Array(data.buffer)).size > 20 // the terminal shows its prompt
})
done('desktop')
// The terminal is at 60, 60, and has the focus where the mouse is.
await canvas.click({ position: { x: 400, y: 300 } })
await desktop.keyboard.type('echo typed in the browser >~/typed\n', { delay: 10 })
const typed = async () => {
  const answer = await fetch(`${SERVER}/v1/sandboxes/${DESKTOP}/files/content?path=/home/user/typed`, { headers })
  return answer.ok ? answer.text() : ''
}
for (const end = Date.now() + 60_000; (await typed()) !== 'typed in the browser\n'; ) assert.ok(Date.now() < end, 'nothing is typed')
await desktop.screenshot({ path: 'desktop.png' })
done('keyboard')

// A page of another sandbox, in the browser that has the cookie of the desktop.
const page = await context.newPage()
await page.goto(PAGE_URL)
assert.equal(await page.title(), 'Served in the sandbox')
const tried = await page.evaluate(async ([desktop, api]) => {
  const socket = (url) => new Promise((resolve) => {
    const socket = new WebSocket(url)
    socket.onopen = () => resolve('open')
    socket.onerror = () => resolve('refused')
  })
  const read = async (url, options) => {
    try {
      return (await fetch(url, options)).status
    } catch {
      return 'refused'
    }
  }
  return [
    await socket(`ws://${desktop}/websockify`),
    await read(`http://${desktop}/`, { credentials: 'include' }),
    await socket(`ws://${api}/v1/sandboxes/x/processes/1/ws`),
    await read(`http://${api}/v1/sandboxes`, { credentials: 'include' }),
    await read('/'),
  ]
}, [new URL(DESKTOP_URL).host, host])
assert.deepEqual(tried, ['refused', 'refused', 'refused', 'refused', 200])
done('other origin')
process.exit(0)
