FROM node:20-alpine
WORKDIR /app
COPY package.json @NPM_LOCK@./
RUN npm @NPM_INSTALL@
COPY . .
CMD ["npm", "start"]
