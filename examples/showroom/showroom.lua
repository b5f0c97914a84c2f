-- Showroom: one Tarantool with the cars of a dealer and three functions: car_add, car_get and cars_of (a model). cars_of
-- looks at every car, until car_index makes an index on models. Tarantool 2.6 and later; nothing else is needed.
--
--   SHOWROOM=127.0.0.1:3391 CARS=100000 tarantool showroom.lua

local fiber = require('fiber')

box.cfg({log = 'showroom.log', wal_mode = 'none', work_dir = os.getenv('SHOWROOM_DIR')})

local cars = box.schema.space.create('car', {
    format = {{'id', 'unsigned'}, {'model', 'string'}, {'year', 'unsigned'}},
    if_not_exists = true,
})
cars:create_index('pk', {parts = {'id'}, if_not_exists = true})
for id = 1, tonumber(os.getenv('CARS') or 100000) do
    cars:replace({id, 'model ' .. id % 1000, 1990 + id % 35})
end

function car_add(id, model, year)
    cars:replace({id, model, year})
    return true
end

function car_get(id)
    return cars:get(id)
end

-- Returns at most 20 cars of the model with a number.
function cars_of(number)
    local model = 'model ' .. number
    local found = {}
    if cars.index.model ~= nil then
        return cars.index.model:select(model, {limit = 20})
    end
    local seen = 0
    for _, car in cars:pairs() do
        seen = seen + 1
        if seen % 1000 == 0 then
            fiber.yield()
        end
        if car.model == model and #found < 20 then
            table.insert(found, car)
        end
    end
    return found
end

-- The fix.
function car_index()
    cars:create_index('model', {parts = {'model'}, unique = false, if_not_exists = true})
    return true
end

box.schema.user.grant('guest', 'read,write,execute,create,alter', 'universe', nil, {if_not_exists = true})
box.cfg({listen = os.getenv('SHOWROOM') or '127.0.0.1:3391'}) -- when all that clients need is there
print('ready')
